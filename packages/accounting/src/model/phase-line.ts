import type { StopReason } from "@lameduck/drain";
import { stopReasons } from "./stop-reasons.ts";

/** What Lameduck's library or init says of itself in a line of the container's output. */
export interface PhaseLine {
  readonly phase: "lame-duck" | "closing" | "closed";
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Of `closing` alone: why the hold ended. */
  readonly reason?: StopReason;
  readonly detail: Readonly<Record<string, unknown>>;
}

type Fields = Readonly<Record<string, unknown>>;

const phases: readonly unknown[] = ["lame-duck", "closing", "closed"];

/** Cheap: most lines of a server under load are its own log. */
const mark =
  /"lameduck":"phase"|"event":"hold-(?:began|ended)"|: holding until traffic has moved away, for |: held for /;

/**
 * @param now milliseconds since 1970, where neither Lameduck nor a time at the line's start says when.
 * @returns undefined for every other line.
 */
export function phaseIn(line: string, now: number): PhaseLine | undefined {
  if (!mark.test(line)) return undefined;
  const start = line.indexOf("{");
  const said = start < 0 ? undefined : fieldsIn(line.slice(start));
  if (said?.["lameduck"] === "phase") return ofLibrary(said);
  if (said?.["name"] === "lameduck-init") return ofInit(said);
  return said === undefined ? ofInitInWords(line, now) : undefined;
}

function fieldsIn(text: string): Fields | undefined {
  try {
    return JSON.parse(text) as Fields;
  } catch {
    return undefined;
  }
}

function ofLibrary(said: Fields): PhaseLine | undefined {
  const { lameduck: _, phase, at, reason, ...rest } = said;
  if (typeof at !== "number" || !phases.includes(phase)) return undefined;
  const common = { phase: phase as PhaseLine["phase"], at };
  // The other phases have reasons in words of their own.
  if (isStopReason(reason)) return { ...common, reason, detail: rest };
  return { ...common, detail: reason === undefined ? rest : { ...rest, reason } };
}

/** A program that ends by itself ends its hold, too: that is no reason of Lameduck's. A dry run ends no hold. */
const noEnd = /\(the program has ended by itself\)|\(dry run\)|; would send /;

function ofInit(said: Fields): PhaseLine | undefined {
  const { event, time, reason, name: _, level: __, message, ...detail } = said;
  if (typeof time !== "number" || detail["on"] === "dry run" || noEnd.test(String(message))) return undefined;
  const at = time * 1_000;
  if (event === "hold-began") return { phase: "lame-duck", at, detail };
  return event === "hold-ended" && isStopReason(reason)
    ? { phase: "closing", at, reason, detail }
    : undefined;
}

/** A time that a kubelet or a container runtime has set before the line, then the name that the init was started by. */
const front = String.raw`^(?:(?<stamp>\d{4}-\d\d-\d\dT\S+) )?(?:std(?:out|err) [FP] )?[^\s:]+: `;
const began = new RegExp(
  String.raw`${front}(?:SIG[A-Z0-9+]+|preStop): holding until traffic has moved away, for `,
);
const ended = new RegExp(
  String.raw`${front}held for [\d.]+m?s, (?<reason>[a-z]+)(?: \([^)]*\))?: (?<explanation>.* received meanwhile.*)$`,
);

/** "lameduck-init: held for 5.612s, acknowledged: floor 1.0, ...; 3 new connections and 14 kB received meanwhile, ...". */
function ofInitInWords(line: string, now: number): PhaseLine | undefined {
  const found = began.exec(line) ?? ended.exec(line);
  if (!found || noEnd.test(line)) return undefined;
  const { stamp, reason, explanation } = found.groups ?? {};
  const at = stamp === undefined ? now : Date.parse(stamp);
  if (reason === undefined) return { phase: "lame-duck", at, detail: {} };
  return isStopReason(reason) ? { phase: "closing", at, reason, detail: { explanation } } : undefined;
}

function isStopReason(word: unknown): word is StopReason {
  return stopReasons.includes(word as StopReason);
}
