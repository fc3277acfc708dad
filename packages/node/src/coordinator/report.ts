import { lessonText } from "@lameduck/drain";
import type { ClosedEvent, ClosingEvent, LameDuckEvent } from "../events.ts";

/** What a pod reports of its termination, by the keys of docs/acknowledgements-protocol.md. */
export type Report = Readonly<Record<string, string>>;

export function reportAtBegin({ reason, policy, floor }: LameDuckEvent): Report {
  return { phase: "lame-duck", program: "library", policy, reason, "floor-ms": String(floor) };
}

/** @param lesson what the termination taught, if anything. */
export function reportAtStop(event: ClosingEvent, lesson: readonly number[] | undefined): Report {
  const { reason, hold, at, lastArrival, connections, requests, explanation } = event;
  return {
    phase: "closing",
    reason,
    "held-ms": String(hold),
    "last-arrival-ms": lastArrival === null ? "" : String(Math.max(0, at - lastArrival)),
    connections: String(connections),
    requests: String(requests),
    "oldest-wait": explanation,
    lesson: lesson === undefined ? "" : lessonText(lesson),
  };
}

export function reportAtEnd({ phase }: ClosedEvent): Report {
  return { phase };
}
