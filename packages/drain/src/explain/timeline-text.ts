import { isLength, type Timeline, type Met } from "./conditions.ts";
import type { Wait } from "../decision.ts";
import type { PendingSender } from "../senders/senders.ts";

/**
 * Why a hold took as long as it did, in one phrase: "floor 1.0, 198.18.0.14 (4.1/s before, silent 2.9 s) until 9.7", or "floor 1.0, released by 5 of 5
 * senders at 5.1 (kube-proxy/node5 last)". Times are seconds since the termination, in the order in which the conditions of the stop were met.
 */
export function timelineText({ met, unmet, sender, release, overruled }: Timeline): string {
  const parts = met.map((one) =>
    release && isOfSenders(one.condition) ? releaseText(release) : metText(one, sender),
  );
  if (overruled) parts.push(`release overruled by ${overruled.sender} at ${seconds(overruled.after)}`);
  if (unmet.length > 0)
    parts.push(`still waiting for ${unmet.map((one) => nameOf(one, sender)).join(" and ")}`);
  return parts.length === 0 ? "nothing to wait for" : [...new Set(parts)].join(", ");
}

/** "198.18.0.14 (4.1/s before, silent 2.9 s)". */
function pendingSenderText({ sender, perSecond, silence }: PendingSender): string {
  return `${sender ?? "other senders"} (${rate(perSecond)}/s before, silent ${seconds(silence)} s)`;
}

/** "released by 5 of 5 senders at 5.1 (kube-proxy/node5 last)". */
function releaseText({ consumers, last, after }: NonNullable<Timeline["release"]>): string {
  const by = consumers === undefined ? "" : ` by ${consumers.replace("/", " of ")} senders`;
  return `released${by} at ${seconds(after)}${last === undefined ? "" : ` (${last} last)`}`;
}

function metText({ condition, at }: Met, sender: PendingSender | undefined): string {
  const name = nameOf(condition, sender);
  return isLength(condition) ? `${name} ${seconds(at)}` : `${name} until ${seconds(at)}`;
}

function isOfSenders(condition: Wait): boolean {
  return condition === "silence" || condition === "acknowledgements";
}

function nameOf(condition: Wait, sender: PendingSender | undefined): string {
  if (condition === "silence") return sender ? pendingSenderText(sender) : "silence";
  return namesOfWaits[condition] ?? condition;
}

const namesOfWaits: Readonly<Partial<Record<Wait, string>>> = {
  requests: "requests on older connections",
  "in-flight": "requests in flight",
  processor: "a free processor",
  gap: "a gap on old connections",
};

const seconds = (milliseconds: number): string => (milliseconds / 1_000).toFixed(1);

const rate = (perSecond: number): string =>
  perSecond >= 100 ? String(Math.round(perSecond)) : String(Number(perSecond.toPrecision(2)));
