import { behindText, earlyReportersText, namesOf } from "../report/consumers.ts";
import type { NewReport } from "../report/describe.ts";

/** Reasons of Events, by type. Alerts may use them. */
export const eventReasons = {
  DrainReleased: "Normal",
  DrainCapped: "Warning",
  DrainKilled: "Warning",
  DrainOverruled: "Warning",
  DrainConsumerBehind: "Warning",
  DrainConsumerMissing: "Warning",
  LosesRequests: "Warning",
  CarrierChanged: "Warning",
  CarrierRefused: "Warning",
} as const;

export type EventReason = keyof typeof eventReasons;

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
      `reports a new connection from ${overruledBy} after every consumer had reported that it let go${earlyReportersText(report)}`,
    );
  if (hold.reason === "cap")
    add(
      "DrainCapped",
      `held ${summary.hold} and stopped at its cap, before the traffic was seen to have gone`,
    );
  if (missing.length > 0)
    add("DrainConsumerMissing", `is sent to by ${namesOf(missing)}, for which nothing reports`);
  if (behind.length > 0 && moments.released === undefined)
    add("DrainConsumerBehind", `ended while ${behindText(behind)}`);
  if (wrong.length > 0 || moments.released === undefined) return wrong;
  return [{ reason: "DrainReleased", message: summary.text }];
}
