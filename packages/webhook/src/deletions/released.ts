import { setTimeout as delay } from "node:timers/promises";
import type { ReleaseSource, ReleaseAnswer, PodName } from "./consumers.ts";
import type { EndpointView } from "./endpoints.ts";

/** `released`: every consumer says so. `waited`: for as long as they may take. `limit`: neither in the time that there was. */
export type Ending = "released" | "waited" | "limit";

interface WithdrawnPod {
  readonly pod: PodName;
  /** "NAMESPACE/SERVICE" */
  readonly services: readonly string[];
  /** When the labels were taken, milliseconds since 1970. */
  readonly at: number;
  /** How long the slowest consumer may take, milliseconds: what is waited for where nobody reports. */
  readonly convergence: number;
}

interface ReleaseEvidence {
  readonly endpoints: Pick<EndpointView, "hasReadyEndpoint" | "changed">;
  readonly consumers: ReleaseSource | undefined;
  readonly now: () => number;
}

/** Seconds of one question to the coordinator. */
const longestQuestionSeconds = 10;

/** Waits until a withdrawn pod is let go of everywhere, or until `end`. */
export async function untilReleased(
  withdrawn: WithdrawnPod,
  { endpoints, consumers, now }: ReleaseEvidence,
  end: AbortSignal,
): Promise<Ending> {
  const { pod, services, at, convergence } = withdrawn;
  while (endpoints.hasReadyEndpoint(services, pod.uid)) {
    if (end.aborted) return "limit";
    await endpoints.changed(end);
  }
  const known = consumers ? await askUntilDecided(pod, consumers, end) : "silent";
  if (known === "released") return "released";
  if (known !== "waiting") await pause(at + convergence - now(), end);
  return end.aborted ? "limit" : "waited";
}

/** What the coordinator says in the end. */
async function askUntilDecided(
  pod: PodName,
  consumers: ReleaseSource,
  end: AbortSignal,
): Promise<ReleaseAnswer> {
  let known: ReleaseAnswer = "unknown";
  do {
    known = await consumers.ask(pod, longestQuestionSeconds, known, end);
    // Whoever answers at once with what is known must not be asked in a loop without a pause.
    if (known === "waiting") await pause(100, end);
  } while (known === "waiting" && !end.aborted);
  return known;
}

/** The same question for one who cannot wait. @returns undefined where it is not let go of yet. */
export async function releaseNow(
  withdrawn: WithdrawnPod,
  { endpoints, consumers, now }: ReleaseEvidence,
  signal: AbortSignal,
): Promise<"released" | "waited" | undefined> {
  const { pod, services, at, convergence } = withdrawn;
  if (endpoints.hasReadyEndpoint(services, pod.uid)) return undefined;
  const known = consumers ? await consumers.ask(pod, 0, "unknown", signal) : "silent";
  if (known === "released") return "released";
  return known !== "waiting" && now() >= at + convergence ? "waited" : undefined;
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await delay(ms, undefined, { signal }).catch(() => undefined);
}
