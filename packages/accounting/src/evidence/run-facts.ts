import type { RequestRecord } from "../model/request.ts";
import { symptomOf } from "./symptom.ts";
import { failedAt, near, setOut, wasCut, type RunFacts } from "./evidence.ts";
import type { PodLife } from "./pod-life.ts";
import { ascending, countBelow, quantile } from "../statistics.ts";
import { toleranceMs } from "./tolerance.ts";

interface Traffic {
  readonly records: readonly RequestRecord[];
  readonly begun: readonly number[];
  readonly over: readonly number[];
  /** Ascending. */
  readonly answers: readonly number[];
  readonly connected: readonly number[];
  readonly signs: readonly number[];
  readonly inVain: readonly number[];
  readonly givenUp: readonly number[];
}

/** Connections of one sender that were cut: when, ascending, and to which pod. */
interface Cuts {
  readonly times: readonly number[];
  readonly lives: readonly PodLife[];
}

/** Outcomes in which nothing came from the other end. */
const silent: ReadonlySet<string | undefined> = new Set(["timeout", "unreachable", "not-sent"]);

/** Looks things up among all requests of a run, warm-up included. Prepared per pod on first demand: most pods are never asked about. */
export function runFacts(
  lives: readonly PodLife[],
  recordsOf: ReadonlyMap<PodLife, readonly RequestRecord[]>,
): RunFacts {
  const [firstDeletion = Infinity] = lives.flatMap(({ deleted }) => deleted?.at ?? []).sort(ascending);
  const prepared = new Map<PodLife, Traffic>();
  let cuts: ReadonlyMap<string, Cuts> | undefined;
  const traffic = (life: PodLife): Traffic => {
    const known = prepared.get(life) ?? prepare(recordsOf.get(life));
    prepared.set(life, known);
    return known;
  };
  const inFlight = (life: PodLife, at: number): number => {
    const { begun, over } = traffic(life);
    // Both up to and without the moment itself: requests that were there already when another one came.
    return countBelow(begun, at) - countBelow(over, at);
  };
  return {
    namesPods: recordsOf.size > 0,
    firstAnswer: (life) => traffic(life).answers[0],
    cutAccepted: (life, at) => traffic(life).records.some((record) => acceptedAndCut(record, at)),
    inFlight,
    lastSign: (life, until) => lastOf(traffic(life).signs, until),
    lastAnswer: (life, until) => lastOf(traffic(life).answers, until),
    lastConnected: (life, until) => lastOf(traffic(life).connected, until),
    lastInVain: (life) => traffic(life).givenUp.at(-1),
    triedToConnect: (life, from, until) => {
      const { inVain } = traffic(life);
      return countBelow(inVain, until) > countBelow(inVain, from);
    },
    lastReset: (life, sender, at) => lastReset(traffic(life).records, sender, at),
    cutAtOnce: (sender, at) => {
      cuts ??= cutsBySender(recordsOf);
      const { times, lives: cut } = cuts.get(sender) ?? { times: [], lives: [] };
      const found = new Set<PodLife>();
      for (let i = countBelow(times, at - toleranceMs.race); times[i]! <= at + toleranceMs.race; i++)
        found.add(cut[i]!);
      return [...found];
    },
    ordinaryInFlight: (life) => ordinary(life, traffic(life), firstDeletion, inFlight),
  };
}

function prepare(records: readonly RequestRecord[] = []): Traffic {
  const sorted = (which: (record: RequestRecord) => boolean, when: (record: RequestRecord) => number) =>
    records.filter(which).map(when).sort(ascending);
  const answers = sorted(({ outcome }) => outcome === "ok", failedAt);
  const connected = sorted(
    (record) => !record.reused && record.connected !== undefined,
    (record) => record.connected ?? 0,
  );
  const signs = sorted((record) => !silent.has(symptomOf(record) ?? "ok"), failedAt);
  return {
    records,
    answers,
    connected,
    signs: [...signs, ...connected].sort(ascending),
    inVain: sorted((record) => symptomOf(record) === "unreachable", setOut),
    givenUp: sorted((record) => silent.has(symptomOf(record)), failedAt),
    begun: records.map(setOut).sort(ascending),
    over: records.map(failedAt).sort(ascending),
  };
}

/**
 * The pod had certainly accepted the request, and yet it was cut: its answer had begun, its connection had carried others before, or the
 * app was known to take its time over it. Idle connections that were closed are recognised by the short flight.
 */
function acceptedAndCut(record: RequestRecord, at: number): boolean {
  if (record.outcome === "ok" || !near(failedAt(record), at)) return false;
  if (record.outcome === "truncated") return true;
  if (record.outcome !== "reset-before-response") return false;
  const waited = failedAt(record) - setOut(record) > toleranceMs.race;
  return waited && (record.reused || record.kind !== "quick");
}

function lastOf(times: readonly number[], until: number): number | undefined {
  return times[countBelow(times, until) - 1];
}

function cutsBySender(recordsOf: ReadonlyMap<PodLife, readonly RequestRecord[]>): ReadonlyMap<string, Cuts> {
  const all = [...recordsOf]
    .flatMap(([life, records]) =>
      records.filter(wasCut).map((record) => ({ sender: record.sender, life, at: failedAt(record) })),
    )
    .sort((one, other) => ascending(one.at, other.at));
  const ofSender = Map.groupBy(all, ({ sender }) => sender);
  return new Map(
    [...ofSender].map(([sender, cuts]) => [
      sender,
      { times: cuts.map(({ at }) => at), lives: cuts.map(({ life }) => life) },
    ]),
  );
}

function lastReset(records: readonly RequestRecord[], sender: string, at: number): number | undefined {
  return records
    .filter((record) => record.sender === sender && record.outcome === "reset-before-response")
    .map(failedAt)
    .filter((failed) => failed <= at)
    .sort(ascending)
    .at(-1);
}

function ordinary(
  life: PodLife,
  { begun }: Traffic,
  until: number,
  inFlight: RunFacts["inFlight"],
): number | undefined {
  const before = begun.filter((at) => at < until);
  if (before.length < 10) return undefined;
  // A hundred looks at arrivals spread over the time are enough for a median.
  const step = Math.ceil(before.length / 100);
  const looks = before.filter((_, i) => i % step === 0).map((at) => inFlight(life, at));
  return Math.round(quantile(looks.sort(ascending), 0.5));
}
