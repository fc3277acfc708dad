import type { EventReason } from "@lameduck/cluster";
import { behindText, earlyReportersText, namesOf, overrulerText } from "./report/consumers.ts";
import { lateText } from "./report/summary.ts";
import type { NewReport } from "./report/describe.ts";

const ownEvidence: ReadonlySet<string> = new Set(["quiet", "idle", "acknowledged"]);

/** Milliseconds between a floor and a cap that count as none. */
const noRoom = 500;

/** Why a hold went to its cap, as far as the report tells. */
function cappedText({ hold, moments }: NewReport): string {
  const { ms = Infinity, floorMs = 0, words } = hold;
  if (floorMs >= ms - noRoom)
    return `: its floor of ${(floorMs / 1_000).toFixed(1)}s leaves no time before the cap in which traffic could be watched`;
  const { released, closing = Infinity } = moments;
  const said = words === undefined ? "" : ` (${words})`;
  if (released !== undefined && released < closing)
    return `, although every consumer had let go after ${(released / 1_000).toFixed(1)}s: something was still in flight${said}`;
  return `, before the traffic was seen to have gone${said}`;
}

/** The Event for a termination: what went wrong, or else that the pod was released. */
export function eventOf(report: NewReport): { readonly reason: EventReason; readonly message: string }[] {
  const { pod, killed, overruledBy, hold, moments, consumers, graceSeconds, summary } = report;
  const missing = consumers.filter(({ state }) => state === "missing");
  const behind = consumers.filter(({ state }) => state === "behind" || state === "silent");
  const wrong: { reason: EventReason; message: string }[] = [];
  const add = (reason: EventReason, words: string): void =>
    void wrong.push({ reason, message: `pod ${pod.name} ${words}` });
  if (killed === "yes") add("DrainKilled", `was killed at the end of its grace period of ${graceSeconds} s`);
  if (overruledBy !== undefined)
    add(
      "DrainOverruled",
      `reports a new connection from ${overrulerText(report)} after every consumer had reported that it let go${earlyReportersText(report)}`,
    );
  const late = lateText(report);
  if (late !== undefined) add("DrainLate", `ran on: ${late}`);
  if (hold.reason === "cap")
    add("DrainCapped", `held ${summary.hold} and stopped at its cap${cappedText(report)}`);
  if (missing.length > 0)
    add("DrainConsumerMissing", `is sent to by ${namesOf(missing)}, for which nothing reports`);
  // One that stops by its own evidence waits for nobody: that is how it is meant to be.
  const isByEvidence = hold.reason !== undefined && ownEvidence.has(hold.reason);
  if (behind.length > 0 && moments.released === undefined && !isByEvidence)
    add("DrainConsumerBehind", `ended while ${behindText(behind)}`);
  if (wrong.length > 0 || moments.released === undefined) return wrong;
  return [{ reason: "DrainReleased", message: summary.text }];
}
