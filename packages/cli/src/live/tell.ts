import type { PodEvent } from "@lameduck/accounting";
import type { PodCount } from "@lameduck/load";
import type { Progress } from "../progress.ts";
import { frame } from "./frame.ts";
import { PodStates } from "./pods.ts";

/** A moment of a run, for the person who waits. */
export interface Told {
  readonly stage: string;
  readonly figures: string;
  /** "" where the pod is not known. */
  readonly byPod: ReadonlyMap<string, PodCount>;
  readonly podEvents: readonly PodEvent[];
  readonly now: number;
}

/** Whether a person watches: results or errors that go elsewhere are read by a program, or later. */
export function isWatched(
  { json }: { readonly json?: string },
  env: NodeJS.ProcessEnv = process.env,
  { stdout, stderr }: Streams = process,
): boolean {
  const { NO_COLOR, CI, TERM } = env;
  const isTerminal = Boolean(stdout.isTTY && stderr.isTTY) && TERM !== "dumb";
  return isTerminal && json === undefined && !NO_COLOR && !CI;
}

interface Streams {
  readonly stdout: { readonly isTTY?: boolean };
  readonly stderr: { readonly isTTY?: boolean };
}

/** Where moments of a run are shown: pod by pod where a person watches, else in one line. */
export function teller(progress: Progress, options: { readonly json?: string }): (told: Told) => void {
  if (!isWatched(options)) return ({ stage, figures }) => progress.update(stage, figures);
  const states = new PodStates();
  return (told) => {
    const { stage, figures, byPod, now } = told;
    states.follow(told.podEvents);
    const shown = { heading: `${stage}  ${figures}`, pods: states.lines(now, byPod), unknown: byPod.get("") };
    progress.show((size) => frame(shown, size));
  };
}
