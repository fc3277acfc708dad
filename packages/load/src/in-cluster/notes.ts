import { count, quantile } from "@lameduck/accounting";
import type { LoadPod } from "./load-pod.ts";

/** A correction of more than this is worth a word. */
const tolerableMs = 50;
/** SIGTERM takes some 0.8 s to come (measured): what is known no better than this could not be bounded. */
const boundedMs = 3_000;
const lateMs = 100;

/** What a reader of the account must know of the pods it came from. */
export function notesOf(pods: readonly LoadPod[], parallel: number): string[] {
  const notes: string[] = [];
  const note = (applies: boolean, text: string): void => {
    if (applies) notes.push(text);
  };
  note(pods.length !== parallel, `${count(pods.length, "pod")} sent the load, ${parallel} were meant to`);
  for (const { name, log, end, endedEarly, missing, doubled, bounds } of pods) {
    note(!end, `pod ${name} ended without a last word: at least ${missing} of its requests are not known`);
    note(
      log.failure !== undefined,
      `the log of ${name} could not be read to its end: ${log.failure?.message ?? ""}`,
    );
    note(
      endedEarly !== undefined,
      `pod ${name} was ended by somebody else at ${new Date(endedEarly ?? 0).toISOString()}: less load since then`,
    );
    note(end?.because === "log too slow", `pod ${name} stopped early: its log was taken away too slowly`);
    note(
      log.skipped > 0,
      `${count(log.skipped, "line")} of ${name}'s log had been rotated away before they were read`,
    );
    note(doubled > 0, `${count(doubled, "request")} of ${name} came twice`);
    note(
      Math.abs(bounds.correction) > tolerableMs,
      `the clock of ${name} is ${Math.round(Math.abs(bounds.correction))} ms ${bounds.correction > 0 ? "slow" : "fast"}; its times are corrected`,
    );
  }
  const uncertainty = Math.max(...pods.map(({ bounds }) => bounds.uncertainty));
  note(
    pods.length > 0 && uncertainty > boundedMs,
    `the clocks of the load's pods are known to ${Math.round(uncertainty)} ms; they are taken to be right within that`,
  );
  const lateness = pods.flatMap((pod) => pod.lateness()).sort((a, b) => a - b);
  const p99 = quantile(lateness, 0.99);
  note(
    p99 > lateMs,
    `1 % of the requests were sent more than ${Math.round(p99)} ms late: the load's pods had too little CPU`,
  );
  return notes;
}
