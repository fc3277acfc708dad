import { readFile } from "node:fs/promises";
import { operatorNames, parsePodAnswer, type ReleaseState } from "@lameduck/protocol";

/** What the coordinator knows of a withdrawn pod. `silent`: it cannot be asked. */
export type ReleaseAnswer = ReleaseState | "silent";

export interface PodName {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Who has let go of a pod, asked of the coordinator. */
export interface ReleaseSource {
  /** Answers at once where the state is not `seen`, else within `waitSeconds`. Never throws. */
  ask(pod: PodName, waitSeconds: number, seen: ReleaseAnswer, signal: AbortSignal): Promise<ReleaseAnswer>;
}

/** Milliseconds for an answer beyond the time that it was asked to wait. */
const answerAllowance = 2_000;

/** @param tokenFile the ServiceAccount's token for the audience "lameduck"; the kubelet renews it in place. */
export function coordinatorSource(url: string, tokenFile: string | undefined): ReleaseSource {
  return {
    async ask({ namespace, name, uid }, waitSeconds, seen, signal) {
      const query = new URLSearchParams({ uid, wait: String(waitSeconds), seen }).toString();
      const within = AbortSignal.timeout(waitSeconds * 1_000 + answerAllowance);
      try {
        const token = tokenFile === undefined ? undefined : (await readFile(tokenFile, "utf8")).trim();
        const response = await fetch(
          `${url}${operatorNames.coordinator.paths.holds}/${namespace}/${name}?${query}`,
          {
            headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
            signal: AbortSignal.any([signal, within]),
          },
        );
        return response.ok ? parsePodAnswer(await response.text()).state : "silent";
      } catch {
        // Whatever is not understood is silence.
        return "silent";
      }
    },
  };
}
