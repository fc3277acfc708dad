import { printable } from "@lameduck/drain/common";
import { readLines, versionOf, writeLines } from "./lines.ts";

/** Whether all consumers have let go of a pod. */
export const releaseStates = ["waiting", "released", "incomplete", "unknown"] as const;
export type ReleaseState = (typeof releaseStates)[number];

/** What a pod does that nobody can release: its own evidence decides, or it waits. */
const modes = ["availability", "consistency"] as const;
export type Mode = (typeof modes)[number];

/** What the coordinator tells a pod, and the webhook. */
export interface PodAnswer {
  readonly state: ReleaseState;
  /** Since the pod left the ready endpoints; undefined while it is among them, as far as this coordinator knows. */
  readonly withdrawnMs: number | undefined;
  /** Since the release; undefined in any other state. */
  readonly releasedMs: number | undefined;
  /** How many have let go, of how many: "4/5". */
  readonly consumers: string | undefined;
  readonly behind: string | undefined;
  /** Senders for which nothing reports are assumed to choose the pod for so many milliseconds yet. */
  readonly assumedMs: number | undefined;
  /** Who let go last. */
  readonly last: string | undefined;
  readonly basis: string | undefined;
  readonly mode: Mode | undefined;
  /** Somebody has asked for the end of the hold. */
  readonly endsHold: boolean;
  /** It ends, and nobody deletes it: its endpoints stay ready unless its readiness fails. Undefined while that is not known. */
  readonly isUndeleted: true | undefined;
}

/** An hour: longer times add nothing. */
const longestMs = 3_600_000;
/** Characters of a value that are shown to people. */
const longestText = 300;

export function writePodAnswer(answer: Partial<PodAnswer> & Pick<PodAnswer, "state">): string {
  const { state, withdrawnMs, releasedMs, consumers, behind, assumedMs, last, basis, mode } = answer;
  const { endsHold, isUndeleted } = answer;
  return writeLines({
    state,
    "withdrawn-ms": withdrawnMs,
    "released-ms": releasedMs,
    consumers,
    behind,
    "assumed-ms": assumedMs,
    last,
    basis,
    mode,
    end: endsHold === true ? "now" : undefined,
    deleted: isUndeleted === true ? "no" : undefined,
  });
}

/** @throws {Error} for what is no answer, or one of another major version. */
export function parsePodAnswer(text: string): PodAnswer {
  const version = versionOf(text);
  if (version === undefined) throw new Error("no answer of version 1");
  if (version !== "1")
    throw new Error(
      `it speaks version ${version} of the protocol, and this program version 1: use releases one apart`,
    );
  const fields = readLines(text);
  // A state that is not known is none that releases a pod.
  const state = releaseStates.find((each) => each === fields["state"]) ?? "unknown";
  const { "withdrawn-ms": withdrawn, "assumed-ms": assumed } = fields;
  return {
    state,
    withdrawnMs: withdrawn === undefined ? undefined : millisecondsOf(withdrawn),
    releasedMs: state === "released" ? millisecondsOf(fields["released-ms"]) : undefined,
    consumers: countsOf(fields["consumers"]),
    behind: shownOf(fields["behind"]),
    assumedMs: assumed === undefined || state === "released" ? undefined : millisecondsOf(assumed),
    last: shownOf(fields["last"]),
    basis: shownOf(fields["basis"]),
    mode: modes.find((each) => each === fields["mode"]),
    endsHold: fields["end"] === "now",
    isUndeleted: fields["deleted"] === "no" ? true : undefined,
  };
}

function millisecondsOf(text = ""): number {
  return /^\d{1,15}$/.test(text) ? Math.min(longestMs, Number(text)) : 0;
}

function countsOf(text = ""): string | undefined {
  const [, applied, relevant] = /^(\d{1,6})\/(\d{1,6})$/.exec(text) ?? [];
  return Number(applied) <= Number(relevant) ? text : undefined;
}

const shownOf = (text?: string): string | undefined =>
  text ? printable(text.slice(0, longestText)) : undefined;
