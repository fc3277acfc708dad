import type { PodReport } from "@lameduck/protocol/pod";
import type { ClosingEvent, LameDuckEvent } from "../events.ts";

/** What a pod reports of its termination: docs/contributing/acknowledgements-protocol.md. */
export function reportAtBegin({ reason, policy, floor }: LameDuckEvent): PodReport {
  return { phase: "lame-duck", program: "library", policy, reason, "floor-ms": String(floor) };
}

export function reportAtStop(event: ClosingEvent): PodReport {
  const { reason, hold, at, lastArrival, connections, requests, explanation } = event;
  return {
    phase: "closing",
    reason,
    "held-ms": String(hold),
    "last-arrival-ms": lastArrival === null ? "" : String(Math.max(0, at - lastArrival)),
    connections: String(connections),
    requests: String(requests),
    "oldest-wait": explanation,
  };
}
