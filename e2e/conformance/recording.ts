import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** What was seen, in order; `at` is milliseconds since the deletion was asked for (for a rollout: since the restart). */
export type Observation = { readonly at: number } & (
  | {
      readonly by: "container";
      readonly container: string;
      readonly event: "started" | "signal" | "hook-begun" | "hook-ended" | "answered" | "refused" | "exiting";
      readonly detail?: string;
    }
  /** The runtime's word on the end of a container's own process: exact where the container cannot speak any more. */
  | { readonly by: "runtime"; readonly container: string; readonly event: "exited"; readonly code: number }
  | { readonly by: "pod"; readonly phase: string; readonly ready: boolean; readonly deleting: boolean }
  | { readonly by: "pod"; readonly event: "gone" }
  | {
      readonly by: "endpoint";
      readonly ready: boolean;
      readonly serving: boolean;
      readonly terminating: boolean;
    }
  | { readonly by: "endpoint"; readonly event: "gone" }
  /** An Event object of the kubelet. */
  | { readonly by: "event"; readonly reason: string; readonly message: string }
  | { readonly by: "test"; readonly event: string }
  /** Of a node that shuts down; `message` is the kubelet's. */
  | {
      readonly by: "node";
      readonly ready: boolean;
      readonly message: string;
      readonly taints: readonly string[];
    }
  /** A pod of a rollout; numbered in the order of creation, old ones first. */
  | {
      readonly by: "rollout";
      readonly pod: number;
      readonly generation: "old" | "new";
      readonly event: "created" | "ready" | "deleted" | "gone";
    }
);

export interface Recording {
  readonly scenario: string;
  readonly asks: string;
  /** Versions of what was asked. */
  readonly of: { readonly kubernetes: string; readonly containerd: string };
  readonly recordedAt: string;
  /** What was applied. */
  readonly manifest: object;
  readonly observations: readonly Observation[];
}

const directory = join(import.meta.dirname, "recordings");
const fileOf = (scenario: string): string => join(directory, `${scenario}.json`);

/** One observation a line: differences between two recordings can be read. */
export async function writeRecording(recording: Recording): Promise<void> {
  const { observations, ...head } = recording;
  const lines = observations.map((observation) => `    ${JSON.stringify(observation)}`);
  const text = JSON.stringify(head, null, 2).replace(
    /\n}$/,
    `,\n  "observations": [\n${lines.join(",\n")}\n  ]\n}\n`,
  );
  await writeFile(fileOf(recording.scenario), text);
}

export async function readRecording(scenario: string): Promise<Recording> {
  return JSON.parse(await readFile(fileOf(scenario), "utf8")) as Recording;
}

/** When a container was seen to do something for the first time after the deletion; undefined when never. */
export function when(
  recording: Recording,
  container: string,
  event: string,
  detail?: string,
): number | undefined {
  return recording.observations.find(
    (one) =>
      "container" in one &&
      one.at >= 0 &&
      one.container === container &&
      one.event === event &&
      (detail === undefined || ("detail" in one && one.detail === detail)),
  )?.at;
}
