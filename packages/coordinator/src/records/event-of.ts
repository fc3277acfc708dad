import type { EventReason } from "@lameduck/cluster";
import { stuckAfterMs, type TerminationView } from "../termination-view.ts";
import { behindText, falseAcknowledgersText, missingText, overrulerText } from "./report/consumers.ts";
import { lateText } from "./report/summary.ts";
import { holdUnknown, type NewReport } from "./report/describe.ts";

export interface Occurrence {
  readonly reason: EventReason;
  readonly message: string;
}

const ownEvidence: ReadonlySet<string> = new Set(["quiet", "idle", "acknowledged"]);

/** So little time between a floor and a cap counts as none. */
const noRoomMs = 500;

/** Why a hold went to its cap, as far as the report tells. */
function cappedText({ hold, moments, overruledBy, unknown }: NewReport): string {
  const { ms = Infinity, floorMs = 0, words, policy } = hold;
  if (policy === "until-deadline") return ": its policy until-deadline always does";
  if (floorMs >= ms - noRoomMs)
    return `: its floor of ${(floorMs / 1_000).toFixed(1)}s leaves no time before the cap in which traffic could be watched`;
  const { released, closing = Infinity } = moments;
  const said = words === undefined ? "" : ` (${words})`;
  // Where a probe may have been the one that came, the report counts it as not known.
  const isOverruled = overruledBy !== undefined || unknown.some((one) => one.startsWith("overruled:"));
  const why = isOverruled ? "a new connection came after that" : "something was still in flight";
  if (released !== undefined && released < closing)
    return `, although every sender had stopped sending after ${(released / 1_000).toFixed(1)}s: ${why}${said}`;
  return `, before the traffic was seen to have gone${said}`;
}

/** Why an injected pod has said nothing: then it is not known whether it has ended by its own evidence. */
function muteText({ unknown }: NewReport): string {
  const [mute] = unknown.flatMap((one) =>
    one.startsWith(holdUnknown) ? [one.slice(holdUnknown.length)] : [],
  );
  return mute === undefined ? "" : `; ${mute}`;
}

/** The Event for a pod that consumers had not let go of long after its end. */
export function eventOfStuck({ name, stuck = [] }: TerminationView): Occurrence {
  const message = `pod ${name} had ended ${stuckAfterMs / 1_000} s before, and ${behindText(stuck)}`;
  return { reason: "DrainConsumerStuck", message };
}

/** The Event for a termination: what went wrong, or else that the pod was released. */
export function eventOf(report: NewReport): Occurrence[] {
  const { pod, killed, overruledBy, hold, moments, consumers, graceSeconds, summary, injected } = report;
  const missing = consumers.filter(({ state }) => state === "missing");
  const behind = consumers.filter(({ state }) => state === "behind" || state === "silent");
  const wrong: Occurrence[] = [];
  const add = (reason: EventReason, words: string): void =>
    void wrong.push({ reason, message: `pod ${pod.name} ${words}` });
  if (killed === "yes") add("DrainKilled", `was killed at the end of its grace period of ${graceSeconds} s`);
  if (overruledBy !== undefined)
    add(
      "DrainOverruled",
      `reports a new connection from ${overrulerText(report)} after it was released${falseAcknowledgersText(report)}`,
    );
  const late = lateText(report);
  if (late !== undefined) add("DrainLate", `ran on: ${late}`);
  if (hold.reason === "cap")
    add("DrainCapped", `held ${summary.hold} and stopped at its cap${cappedText(report)}`);
  if (missing.length > 0)
    add("DrainConsumerMissing", `is sent to by ${missingText(missing)}, for which nothing reports`);
  // One that stops by its own evidence waits for nobody: that is how it is meant to be.
  const isByEvidence = hold.reason !== undefined && ownEvidence.has(hold.reason);
  if (behind.length > 0 && moments.released === undefined && !isByEvidence)
    add(
      "DrainConsumerBehind",
      `ended while ${behindText(behind)}${injected === undefined ? "" : muteText(report)}`,
    );
  if (wrong.length > 0 || moments.released === undefined) return wrong;
  return [{ reason: "DrainReleased", message: summary.text }];
}
