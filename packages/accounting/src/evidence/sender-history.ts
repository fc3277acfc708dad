import type { SenderEvent } from "../model/timeline.ts";
import type { PodLife } from "./pod-life.ts";

/** What one sender knew, over time. */
export interface SenderHistory {
  readonly sender: string;
  /** Times at which it began and ceased to choose a pod, in order. */
  readonly choices: ReadonlyMap<string, readonly { readonly at: number; readonly chosen: boolean }[]>;
  /** Spans in which it had no endpoint at all. */
  readonly empty: readonly Span[];
  readonly severed: readonly Extract<SenderEvent, { type: "severed" }>[];
  readonly reloads: readonly Span[];
}

interface Span {
  readonly from: number;
  readonly to: number;
}

export function senderHistories(events: readonly SenderEvent[]): Map<string, SenderHistory> {
  const bySender = Map.groupBy(
    [...events].sort((a, b) => a.at - b.at),
    (event) => event.sender,
  );
  return new Map([...bySender].map(([sender, own]) => [sender, history(sender, own)]));
}

function history(sender: string, events: readonly SenderEvent[]): SenderHistory {
  const choices = new Map<string, { at: number; chosen: boolean }[]>();
  for (const event of events) {
    if (event.type !== "added" && event.type !== "converged") continue;
    const own = choices.get(event.pod) ?? [];
    own.push({ at: event.at, chosen: event.type === "added" });
    choices.set(event.pod, own);
  }
  return {
    sender,
    choices,
    empty: emptySpans(events),
    severed: events.filter((event) => event.type === "severed"),
    reloads: events
      .filter((event) => event.type === "reloaded")
      .map(({ at, until = at }) => ({ from: at, to: until })),
  };
}

/** As the sender reported. A sender that reports no such thing: from its choices. */
function emptySpans(events: readonly SenderEvent[]): Span[] {
  const reported = events.some((event) => event.type === "empty");
  const spans: Span[] = [];
  const chosen = new Set<string>();
  let from: number | undefined;
  for (const event of events) {
    if (event.type === "added") chosen.add(event.pod);
    if (event.type === "converged") chosen.delete(event.pod);
    const begins = reported ? event.type === "empty" : event.type === "converged" && chosen.size === 0;
    const ends = reported ? event.type === "filled" : event.type === "added";
    if (begins) from ??= event.at;
    if (ends && from !== undefined) {
      spans.push({ from, to: event.at });
      from = undefined;
    }
  }
  if (from !== undefined) spans.push({ from, to: Infinity });
  return spans;
}

/**
 * When the sender ceased to choose a pod for good, not before its deletion; undefined when it never did. For good, because kube-proxy comes
 * back to terminating pods that still serve while no other is ready (KEP-1669).
 */
export function convergedFrom(history: SenderHistory, { pod, deleted, until }: PodLife): number | undefined {
  const choices = history.choices.get(pod) ?? [];
  const last = choices.findLast((choice) => choice.at <= until);
  const left = last && !last.chosen ? last : choices.find((choice) => choice.at > until && !choice.chosen);
  return left && Math.max(left.at, deleted?.at ?? -Infinity);
}

/** The last thing the sender decided about the pod up to a time. */
export function choiceAt(history: SenderHistory, pod: string, at: number) {
  return history.choices.get(pod)?.findLast((choice) => choice.at <= at);
}

export function emptyAt(history: SenderHistory, at: number, slack: number) {
  return history.empty.find((span) => isWithin(span, at, slack));
}

/** The last reload of the sender to which one of the times belongs. */
export function reloadAt(history: SenderHistory, times: readonly number[], slack: number) {
  return history.reloads.findLast((span) => times.some((at) => isWithin(span, at, slack)));
}

function isWithin({ from, to }: Span, at: number, slack: number): boolean {
  return at >= from - slack && at <= to + slack;
}
