import { printable } from "@lameduck/drain/common";
import type { ClosedEvent, ClosingEvent, LameDuckEvent } from "../events.ts";

/** What the coordinator answers: docs/acknowledgements-protocol.md. Only what it says of the pod's consumers is trusted. */
export interface Answer {
  readonly state: "waiting" | "released" | "incomplete" | "unknown";
  /** It is, or is again, among the ready endpoints, as far as the coordinator that answered knows. */
  readonly isPublished: boolean;
  /** Milliseconds since the release. */
  readonly releasedFor: number;
  /** How many have let go, of how many: "4/5". */
  readonly consumers: string | undefined;
  readonly behind: string | undefined;
  /** Who let go last. */
  readonly last: string | undefined;
  readonly basis: string | undefined;
  /** Somebody has asked for the end of the hold. */
  readonly endsHold: boolean;
  readonly mode: "availability" | "consistency" | undefined;
}

const states = ["waiting", "released", "incomplete", "unknown"] as const;
const modes = ["availability", "consistency"] as const;

/** An hour: longer times add nothing. */
const longestMs = 3_600_000;
/** Characters of a value that are shown to people. */
const longestText = 300;

/** @throws {Error} for what is no answer, or one of another major version. */
export function parseAnswer(text: string): Answer {
  const [first = "", ...lines] = text.split("\n").map((line) => line.trimEnd());
  const [, major] = /^lameduck (\d{1,9})(?:\.\d+)?$/.exec(first) ?? [];
  if (major === undefined) throw new Error("no answer of version 1");
  if (major !== "1")
    throw new Error(
      `it speaks version ${major} of the protocol, and the library version 1: use releases one apart`,
    );
  const fields = new Map(
    lines.flatMap((line): [string, string][] => {
      const colon = line.indexOf(": ");
      return colon > 0 ? [[line.slice(0, colon), line.slice(colon + 2).trim()]] : [];
    }),
  );
  const state = states.find((each) => each === fields.get("state")) ?? "unknown";
  const consumers = fields.get("consumers");
  const shownOf = (name: string): string | undefined => {
    const value = fields.get(name);
    return value ? printable(value.slice(0, longestText)) : undefined;
  };
  return {
    state,
    isPublished: !fields.has("withdrawn-ms"),
    releasedFor: millisecondsOf(fields.get("released-ms")),
    consumers: consumers && /^\d{1,6}\/\d{1,6}$/.test(consumers) ? consumers : undefined,
    behind: shownOf("behind"),
    last: shownOf("last"),
    basis: shownOf("basis"),
    endsHold: fields.get("end") === "now",
    mode: modes.find((each) => each === fields.get("mode")),
  };
}

function millisecondsOf(text = ""): number {
  return /^\d{1,15}$/.test(text) ? Math.min(longestMs, Number(text)) : 0;
}

/** What a pod reports of its termination, by the keys of docs/acknowledgements-protocol.md. */
export type PodReport = Readonly<Record<string, string>>;

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

export function reportAtEnd({ phase }: ClosedEvent): PodReport {
  return { phase };
}
