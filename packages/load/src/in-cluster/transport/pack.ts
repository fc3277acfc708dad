import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { Finished } from "../../protocols/exchange.ts";

/** Records of requests in columns, packed and as text: some 20 bytes each, so that a log that is rotated at 10 MB holds 500,000. */
export type PackedRecords = string;

/** A record and the number of its request in the schedule of its route, from 0. */
export interface Numbered {
  readonly row: number;
  readonly record: Finished;
}

/** Times are kept to this. */
const stepMs = 0.01;

/** The fields of each kind, a column each. */
const times = ["fired", "sent", "finished", "connected"] as const;
const texts = ["mode", "kind", "outcome", "pod", "podKnownBy", "error"] as const;
const numbers = ["connection", "status", "retries", "received"] as const;
const flags = ["reused", "endedBySender", "late"] as const;

type Column = (number | null)[];

interface Columns {
  /** Difference from the record before. */
  readonly row: number[];
  readonly intended: number[];
  /** Difference from the intended time; null where the time is not known. */
  readonly times: Column[];
  /** Places in `words`. */
  readonly texts: Column[];
  readonly numbers: Column[];
  readonly flags: Column[];
  readonly words: string[];
}

export function pack(records: readonly Numbered[]): PackedRecords {
  const words = new Map<string, number>([["", 0]]);
  const word = (text = ""): number => {
    const known = words.get(text) ?? words.size;
    words.set(text, known);
    return known;
  };
  const units = (time: number): number => Math.round(time / stepMs);
  const intended = records.map(({ record }) => units(record.intended));
  const columns = <Field extends keyof Finished>(
    fields: readonly Field[],
    value: (of: Finished[Field], index: number) => number | null,
  ): Column[] => fields.map((field) => records.map(({ record }, index) => value(record[field], index)));
  const packed: Columns = {
    row: differences(records.map(({ row }) => row)),
    intended: differences(intended),
    times: columns(times, (time, index) => (time === undefined ? null : units(time) - intended[index]!)),
    texts: columns(texts, word),
    numbers: columns(numbers, (number) => number ?? null),
    flags: columns(flags, Number),
    words: [...words.keys()],
  };
  return deflateRawSync(JSON.stringify(packed)).toString("base64");
}

export function unpack(packed: PackedRecords): Numbered[] {
  const columns = JSON.parse(inflateRawSync(Buffer.from(packed, "base64")).toString()) as Columns;
  const { words } = columns;
  const intended = sums(columns.intended);
  const records = intended.map((units) => ({ sender: 0, intended: units * stepMs }) as Finished);
  const fill = <Field extends keyof Finished>(
    fields: readonly Field[],
    from: readonly Column[],
    value: (kept: number, index: number) => Finished[Field],
  ): void => {
    for (const [nth, field] of fields.entries())
      for (const [index, record] of records.entries()) {
        const kept = from[nth]?.[index] ?? undefined;
        record[field] = (kept === undefined ? undefined : value(kept, index)) as Finished[Field];
      }
  };
  fill(times, columns.times, (time, index) => (time + intended[index]!) * stepMs);
  fill(texts, columns.texts, (place) => words[place] || undefined);
  fill(numbers, columns.numbers, (number) => number);
  fill(flags, columns.flags, (flag) => flag === 1);
  return sums(columns.row).map((row, index) => ({ row, record: records[index]! }));
}

function differences(values: readonly number[]): number[] {
  return values.map((value, index) => value - (values[index - 1] ?? 0));
}

function sums(values: readonly number[]): number[] {
  let sum = 0;
  return values.map((value) => (sum += value));
}
