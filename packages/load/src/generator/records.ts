import { withoutUndefined } from "@lameduck/drain/common";
import type { Finished } from "../protocols/exchange.ts";
import { modes, outcomes, podSources } from "@lameduck/accounting/recording";
import type { RequestKind, RequestRecord } from "@lameduck/accounting";

const kinds: readonly RequestKind[] = ["quick", "slow", "large", "session"];
const sources = [undefined, ...podSources];
const noRetries = 255;
/** Columns of names are 16 bits wide; pods and errors are some hundreds, and what claims to be a pod's name may be anything. */
const mostNames = 60_000;

/** Up to `size` records, column by column: plain memory that neither the garbage collector nor a slow reader ever waits for. */
interface RecordChunk {
  rows: number;
  readonly times: Float64Array;
  readonly received: Float64Array;
  readonly connection: Uint32Array;
  readonly small: Uint8Array;
  readonly names: Uint16Array;
}

/** A chunk as it is now. It replaces what was reported of it before. */
export interface RecordNews {
  readonly index: number;
  readonly chunk: RecordChunk;
  /** Names in the order of their numbers, after those that were reported before. */
  readonly names: readonly string[];
}

const size = 8_192;
const timesPerRow = 5;
const smallsPerRow = 7;
const namesPerRow = 4;

/** All records of a run, as the generator keeps them. A row is begun when a request is fired and written when it has ended. */
export class RecordTable {
  readonly chunks: RecordChunk[] = [];
  /** Pods and errors by number; 0 stands for none. */
  readonly names: string[] = [""];
  readonly #numbers = new Map<string, number>([["", 0]]);
  readonly #changed = new Set<number>();
  #reportedNames = 0;
  #rows = 0;

  begin(): number {
    if (this.#rows % size === 0) this.chunks.push(newChunk());
    const chunk = this.chunks.at(-1) as RecordChunk;
    chunk.rows++;
    this.#changed.add(this.chunks.length - 1);
    return this.#rows++;
  }

  /** The chunks that have changed since this was asked last, whole, and the names that are new. */
  news(): RecordNews[] {
    const news = [...this.#changed].map((index) => ({
      index,
      chunk: this.chunks[index] as RecordChunk,
      names: this.names.slice(this.#reportedNames),
    }));
    this.#changed.clear();
    if (news.length > 0) this.#reportedNames = this.names.length;
    return news.map((one, nth) => (nth === 0 ? one : { ...one, names: [] }));
  }

  write(row: number, record: Finished): void {
    const chunk = this.chunks[Math.floor(row / size)] as RecordChunk;
    this.#changed.add(Math.floor(row / size));
    const index = row % size;
    let at = index * timesPerRow;
    chunk.times[at++] = record.intended;
    chunk.times[at++] = record.fired ?? Number.NaN;
    chunk.times[at++] = record.sent ?? Number.NaN;
    chunk.times[at++] = record.finished ?? Number.NaN;
    chunk.times[at] = record.connected ?? Number.NaN;
    chunk.received[index] = record.received;
    chunk.connection[index] = record.connection ?? 0;
    at = index * smallsPerRow;
    chunk.small[at++] = modes.indexOf(record.mode);
    chunk.small[at++] = kinds.indexOf(record.kind);
    chunk.small[at++] = outcomes.indexOf(record.outcome);
    chunk.small[at++] = sources.indexOf(record.podKnownBy);
    chunk.small[at++] = record.reused ? 1 : 0;
    chunk.small[at++] = (record.endedBySender ? 1 : 0) | (record.late ? 2 : 0);
    chunk.small[at] = record.retries ?? noRetries;
    at = index * namesPerRow;
    chunk.names[at++] = record.sender;
    chunk.names[at++] = this.#number(record.pod ?? "");
    chunk.names[at++] = this.#number(record.error ?? "");
    chunk.names[at] = record.status ?? 0;
  }

  #number(name: string): number {
    let number = this.#numbers.get(name);
    if (number === undefined && this.names.length > mostNames) return 0;
    if (number === undefined) {
      number = this.names.push(name) - 1;
      this.#numbers.set(name, number);
    }
    return number;
  }
}

function newChunk(): RecordChunk {
  return {
    rows: 0,
    times: new Float64Array(size * timesPerRow).fill(Number.NaN),
    received: new Float64Array(size),
    connection: new Uint32Array(size),
    small: new Uint8Array(size * smallsPerRow),
    names: new Uint16Array(size * namesPerRow),
  };
}

/** The records of a table somewhere else, as far as its news have come. */
export class ReadTable {
  readonly #senders: readonly string[];
  readonly #chunks: RecordChunk[] = [];
  readonly #names: string[] = [];

  /** @param senders their names, in the table's order. */
  constructor(senders: readonly string[]) {
    this.#senders = senders;
  }

  take({ index, chunk, names }: RecordNews): void {
    this.#chunks[index] = chunk;
    this.#names.push(...names);
  }

  get records(): RequestRecord[] {
    const records: RequestRecord[] = [];
    for (const chunk of this.#chunks)
      for (const record of readRecords(chunk, records.length, this.#senders, this.#names))
        records.push(record);
    return records;
  }
}

/** A chunk as the words of the model; `id` of the first record is `firstId`. Requests that have not ended are left out. */
export function readRecords(
  chunk: RecordChunk,
  firstId: number,
  senders: readonly string[],
  names: readonly string[],
): RequestRecord[] {
  const records: RequestRecord[] = [];
  for (let index = 0; index < chunk.rows; index++)
    if (!Number.isNaN(chunk.times[index * timesPerRow]))
      records.push(readRecord(chunk, index, firstId + records.length, senders, names));
  return records;
}

function readRecord(
  chunk: RecordChunk,
  index: number,
  id: number,
  senders: readonly string[],
  names: readonly string[],
): RequestRecord {
  const time = (column: number): number | undefined => {
    const value = chunk.times[index * timesPerRow + column] as number;
    return Number.isNaN(value) ? undefined : value;
  };
  const small = (column: number): number => chunk.small[index * smallsPerRow + column] as number;
  const name = (column: number): number => chunk.names[index * namesPerRow + column] as number;
  const text = (column: number): string | undefined => names[name(column)] || undefined;
  const retries = small(6);
  return withoutUndefined({
    id,
    intended: time(0)!,
    sent: time(2),
    finished: time(3),
    mode: modes[small(0)]!,
    kind: kinds[small(1)]!,
    sender: senders[name(0)]!,
    pod: text(1),
    podKnownBy: sources[small(3)],
    connection: chunk.connection[index] || undefined,
    reused: small(4) === 1,
    connected: time(4),
    outcome: outcomes[small(2)]!,
    status: name(3) || undefined,
    error: text(2),
    received: chunk.received[index]!,
    retries: retries === noRetries ? undefined : retries,
    endedBySender: (small(5) & 1) === 1 || undefined,
    late: (small(5) & 2) === 0 ? undefined : lateBy(time(0)!, time(1)),
  });
}

/** Milliseconds. */
export function lateBy(intended: number, fired = intended): number {
  return Math.max(0, Math.round(fired - intended));
}
