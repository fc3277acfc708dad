import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { Finished } from "../../generator/records.ts";

/** Records of requests in columns, packed and as text: some 20 bytes each, so that a log that is rotated at 10 MB holds 500,000. */
export type PackedRecords = string;

/** A record and the number of its request in the schedule of its route, from 0. */
export interface Numbered {
  readonly row: number;
  readonly record: Finished;
}

/** Times are kept to this many milliseconds. */
const step = 0.01;

/** What is a word is a number in `words`; what is absent is null. Times count from the one before, or from the request's intended time. */
interface Columns {
  readonly words: readonly string[];
  readonly row: number[];
  readonly intended: number[];
  readonly fired: (number | null)[];
  readonly sent: (number | null)[];
  readonly finished: (number | null)[];
  readonly connected: (number | null)[];
  readonly mode: number[];
  readonly kind: number[];
  readonly outcome: number[];
  readonly pod: number[];
  readonly podKnownBy: number[];
  readonly error: number[];
  readonly connection: (number | null)[];
  readonly status: (number | null)[];
  readonly retries: (number | null)[];
  readonly received: number[];
  readonly flags: number[];
}

export function pack(records: readonly Numbered[]): PackedRecords {
  const words = new Map<string, number>([["", 0]]);
  const word = (text = ""): number => {
    const known = words.get(text) ?? words.size;
    words.set(text, known);
    return known;
  };
  const units = (time: number): number => Math.round(time / step);
  const intended = records.map(({ record }) => units(record.intended));
  const since = (pick: (record: Finished) => number | undefined): (number | null)[] =>
    records.map(({ record }, index) => {
      const time = pick(record);
      return time === undefined ? null : units(time) - (intended[index] ?? 0);
    });
  const all = <T>(pick: (record: Finished) => T): T[] => records.map(({ record }) => pick(record));
  const columns: Omit<Columns, "words"> = {
    row: differences(records.map(({ row }) => row)),
    intended: differences(intended),
    fired: since(({ fired }) => fired),
    sent: since(({ sent }) => sent),
    finished: since(({ finished }) => finished),
    connected: since(({ connected }) => connected),
    mode: all(({ mode }) => word(mode)),
    kind: all(({ kind }) => word(kind)),
    outcome: all(({ outcome }) => word(outcome)),
    pod: all(({ pod }) => word(pod)),
    podKnownBy: all(({ podKnownBy }) => word(podKnownBy)),
    error: all(({ error }) => word(error)),
    connection: all(({ connection }) => connection ?? null),
    status: all(({ status }) => status ?? null),
    retries: all(({ retries }) => retries ?? null),
    received: all(({ received }) => received),
    flags: all(({ reused, endedBySender }) => (reused ? 1 : 0) + (endedBySender ? 2 : 0)),
  };
  const text = JSON.stringify({ words: [...words.keys()], ...columns } satisfies Columns);
  return deflateRawSync(text).toString("base64");
}

export function unpack(packed: PackedRecords): Numbered[] {
  const columns = JSON.parse(inflateRawSync(Buffer.from(packed, "base64")).toString()) as Columns;
  const rows = sums(columns.row);
  const intended = sums(columns.intended);
  return rows.map((row, index): Numbered => {
    const time = (column: readonly (number | null)[]): number | undefined => {
      const units = column[index];
      return units === null || units === undefined ? undefined : (units + (intended[index] ?? 0)) * step;
    };
    const word = (column: readonly number[]): string => columns.words[column[index] ?? 0] ?? "";
    const flags = columns.flags[index] ?? 0;
    return {
      row,
      record: {
        intended: (intended[index] ?? 0) * step,
        fired: time(columns.fired),
        sent: time(columns.sent),
        finished: time(columns.finished),
        connected: time(columns.connected),
        mode: word(columns.mode) as Finished["mode"],
        kind: word(columns.kind) as Finished["kind"],
        outcome: word(columns.outcome) as Finished["outcome"],
        sender: 0,
        pod: word(columns.pod) || undefined,
        podKnownBy: (word(columns.podKnownBy) as NonNullable<Finished["podKnownBy"]> | "") || undefined,
        error: word(columns.error) || undefined,
        connection: columns.connection[index] ?? undefined,
        status: columns.status[index] ?? undefined,
        retries: columns.retries[index] ?? undefined,
        received: columns.received[index] ?? 0,
        reused: (flags & 1) > 0,
        endedBySender: (flags & 2) > 0,
      },
    };
  });
}

function differences(values: readonly number[]): number[] {
  return values.map((value, index) => value - (values[index - 1] ?? 0));
}

function sums(values: readonly number[]): number[] {
  let sum = 0;
  return values.map((value) => (sum += value));
}
