import { lessonText } from "@lameduck/drain";
import type { ClosedEvent, ClosingEvent, LameDuckEvent } from "../events.ts";

/** What a pod says of its termination, by the keys of docs/acknowledgements-protocol.md. */
export type Said = Readonly<Record<string, string>>;

export function saidAtBegin({ reason, policy, floor }: LameDuckEvent): Said {
  return { phase: "lame-duck", program: "library", policy, reason, "floor-ms": String(floor) };
}

/** @param lesson what the termination taught, if anything. */
export function saidAtStop(event: ClosingEvent, lesson: readonly number[] | undefined): Said {
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

export function saidAtEnd({ phase }: ClosedEvent): Said {
  return { phase };
}
