import { count, type RunClock, StatusClasses, type RequestRecord } from "@lameduck/accounting";
import type { LoadEnd, LoadSeen, LoadSource } from "../routes/load-source.ts";
import { LoadError } from "../errors.ts";
import { wordsOf } from "../generator/trials.ts";
import { readRequests } from "./read.ts";

interface RequestsLoadOptions {
  readonly clock: RunClock;
  readonly files: readonly string[];
  /** How long nothing happens to the target yet: statuses are learned from what is answered then. */
  readonly learn?: number;
  /** Statuses from 400 on that the requests are meant to get. */
  readonly meant?: readonly number[];
}

/** The load of a tool that people run already, beside: its files are read when the rollout is over. */
export function requestsLoad({ clock, files, learn = 0, meant = [] }: RequestsLoadOptions): LoadSource {
  return {
    addresses: new Map(),
    failed: new Promise<never>(() => undefined),
    begin: () => Promise.resolve(),
    counts: () => ({ sent: 0, failed: 0 }),
    soFar: () => [],
    judge: () => ({ undecided: false, failure: undefined, notes: [] }),
    stop: async ({ podAt, from, to }: LoadEnd): Promise<LoadSeen> => {
      const epoch = clock.fromEpoch(0);
      const { records, notes } = await readRequests(files, {
        clock,
        window: { from: from - epoch, to: to - epoch },
        podAt,
      });
      mustHaveWorked(records, files, meant);
      const held = heldToClasses(records, from + learn);
      return { records: held.records, missing: 0, notes: [...notes, ...held.notes] };
    },
    close: () => Promise.resolve(),
  };
}

/** @throws {LoadError} LAMEDUCK_NEVER_WORKED where all were answered 401, say: nothing about pods follows from them. */
function mustHaveWorked(
  records: readonly RequestRecord[],
  files: readonly string[],
  meant: readonly number[],
): void {
  const worked = ({ outcome, status = 0 }: RequestRecord): boolean =>
    outcome === "ok" && (status < 400 || meant.includes(status));
  const [first] = records;
  if (first && !records.some(worked))
    throw new LoadError(
      "LAMEDUCK_NEVER_WORKED",
      files.join(", "),
      `none of ${count(records.length, "request")} worked: ${wordsOf(first)}`,
    );
}

/** Each URL is held to the classes of statuses that it answered before `until`. */
function heldToClasses(
  records: readonly RequestRecord[],
  until: number,
): { readonly records: readonly RequestRecord[]; readonly notes: readonly string[] } {
  const classes = new Map<string, StatusClasses>();
  const answered = ({ outcome, status = 0 }: RequestRecord): boolean => outcome === "ok" && status >= 100;
  for (const record of records)
    if (record.intended < until && answered(record)) {
      const own = classes.get(record.sender) ?? new StatusClasses();
      own.learn(record.status ?? 0);
      classes.set(record.sender, own);
    }
  const unlearned = new Set(records.map(({ sender }) => sender).filter((sender) => !classes.has(sender)));
  return {
    records: records.map((record) => {
      const own = classes.get(record.sender);
      if (!own || record.intended < until || !answered(record) || own.knows(record.status ?? 0))
        return record;
      return { ...record, outcome: "other-status", error: own.code };
    }),
    notes:
      unlearned.size === 0
        ? []
        : [
            `what ${[...unlearned].join(", ")} answers was not seen before the rollout: every status below 500 counts as right there`,
          ],
  };
}
