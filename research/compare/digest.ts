import type { PodEvent, RemedyResult, RunRecording } from "@lameduck/accounting";

/** One termination of a recorded rollout. Milliseconds, from the pod's deletion unless said otherwise. */
export interface RecordedTermination {
  /** Which rollout of the recording. */
  readonly rollout: number;
  /** Since the recording's first deletion. */
  readonly deletedAt: number;
  /** How long before that it became ready, where that was kept. */
  readonly age?: number;
  readonly hold: number;
  /** The policy's reason, or what else told of the hold's end. */
  readonly reason: string;
  readonly lost: number;
  /** Until each sender of `senders` let go of it; null where it never knew it. */
  readonly lags: readonly (number | null)[];
  /** Until the last of them did, where each one's own time was not kept. */
  readonly oracle?: number;
  /** Until its own first word after SIGTERM. */
  readonly reaction?: number;
  /** Part of its hold in which its event loop stood still. */
  readonly blind?: number;
}

/** What a comparison needs of a recording: tens of kilobytes of tens of megabytes. */
export interface Digest {
  readonly remedy: string;
  readonly route: string;
  readonly replicas: number;
  readonly maxSurge: string | number;
  readonly maxUnavailable: string | number;
  /** Those that sent, by the recording's names. */
  readonly senders: readonly string[];
  /** New connections per second of each of them to one pod that it knew and that was not being deleted. */
  readonly newPerPod: readonly number[];
  /** Requests per second on kept connections, of all of them to such a pod. */
  readonly pooledPerPod: number;
  /** Pods' times from creation to readiness, quantiles at equal distances. */
  readonly ready: readonly number[];
  /** Kept connections open to a pod when its hold began, on average; 0 where it did not tell. */
  readonly openPerPod: number;
  /**
   * How many requests took longer than so many ms. Only quick requests on kept connections count: a pod answers them in one
   * turn of its event loop.
   */
  readonly slow: readonly (readonly [milliseconds: number, share: number])[];
  readonly terminations: readonly RecordedTermination[];
}

/** One line of what is alike for all, then a line for each termination. */
export function writeDigest({ terminations, ...shared }: Digest): string {
  return [shared, ...terminations].map((line) => `${JSON.stringify(line)}\n`).join("");
}

export function readDigest(text: string): Digest {
  const [shared, ...terminations] = text
    .trimEnd()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
  return { ...(shared as Omit<Digest, "terminations">), terminations: terminations as RecordedTermination[] };
}

interface Life {
  readonly events: PodEvent[];
  readonly added: Map<string, number>;
  readonly converged: Map<string, number>;
}

/** Deletions further apart than this belong to different rollouts. */
const betweenRollouts = 8_000;

export function digestOf(
  recording: RunRecording,
  result: RemedyResult,
  facts: Pick<Digest, "route" | "replicas" | "maxSurge" | "maxUnavailable">,
): Digest {
  const lives = livesOf(recording);
  const senders = [...new Set(recording.records.map(({ sender }) => sender))].sort();
  return {
    remedy: result.remedy,
    ...facts,
    senders,
    ...ratesOf(recording, lives, senders),
    ready: twentieths(
      [...lives.values()].flatMap(({ events }) => {
        const [created, ready] = [timeOf(events, "created"), timeOf(events, "ready")];
        return created !== undefined && ready !== undefined && created > recording.countedFrom
          ? [Math.round(ready - created)]
          : [];
      }),
    ),
    openPerPod: openOf(lives),
    slow: slowOf(recording),
    terminations: terminationsOf(result, lives, senders),
  };
}

function livesOf({ podEvents, senderEvents }: RunRecording): Map<string, Life> {
  const lives = new Map<string, Life>();
  const lifeOf = (pod: string): Life => {
    const life = lives.get(pod) ?? { events: [], added: new Map(), converged: new Map() };
    lives.set(pod, life);
    return life;
  };
  for (const event of podEvents) lifeOf(event.pod).events.push(event);
  for (const event of senderEvents) {
    if (!("pod" in event)) continue;
    const { added, converged } = lifeOf(event.pod);
    // A pod that was unready for a moment was let go of and taken up again: the first time and the last count.
    if (event.type === "converged") converged.set(event.sender, event.at);
    else if (!added.has(event.sender)) added.set(event.sender, event.at);
  }
  return lives;
}

function terminationsOf(
  result: RemedyResult,
  lives: ReadonlyMap<string, Life>,
  senders: readonly string[],
): RecordedTermination[] {
  const each = result.each.toSorted((a, b) => a.deletedAt - b.deletedAt);
  const begin = each[0]?.deletedAt ?? 0;
  let rollout = 0;
  let last = begin;
  return each.map(({ pod, deletedAt, hold, stopReason, lostByCause }) => {
    const life = lives.get(pod);
    if (deletedAt - last > betweenRollouts) rollout++;
    last = deletedAt;
    const held = life && said(life, "lame-duck");
    const closing = life && said(life, "closing");
    const { stalled, elapsed } = (closing?.detail ?? {}) as { stalled?: number; elapsed?: number };
    return {
      rollout,
      deletedAt: Math.round(deletedAt - begin),
      age: Math.round(deletedAt - (timeOf(life?.events ?? [], "ready") ?? deletedAt)),
      hold: Math.round(hold),
      reason: stopReason,
      lost: lostToTerminations(lostByCause),
      lags: senders.map((sender) => {
        const at = life?.converged.get(sender);
        return at === undefined ? null : Math.max(0, Math.round(at - deletedAt));
      }),
      ...(held ? { reaction: Math.max(0, Math.round(held.at - deletedAt)) } : {}),
      ...(stalled !== undefined && elapsed ? { blind: +(stalled / elapsed).toFixed(3) } : {}),
    };
  });
}

/** The model has no pods that cannot answer, or cannot yet. What a rollout loses by them (C7 to C10) is not counted. */
const notByTermination: ReadonlySet<string> = new Set(["C7", "C8", "C9", "C10"]);

export function lostToTerminations(lostByCause: Readonly<Record<string, number>>): number {
  return Object.entries(lostByCause).reduce(
    (sum, [cause, lost]) => sum + (notByTermination.has(cause) ? 0 : lost),
    0,
  );
}

type PhaseEvent = Extract<PodEvent, { type: "phase" }>;

function said({ events }: Life, phase: string): PhaseEvent | undefined {
  return events.find((event): event is PhaseEvent => event.type === "phase" && event.phase === phase);
}

function timeOf(events: readonly PodEvent[], type: PodEvent["type"]): number | undefined {
  return events.find((event) => event.type === type)?.at;
}

function ratesOf(
  { records, countedFrom, ended }: RunRecording,
  lives: ReadonlyMap<string, Life>,
  senders: readonly string[],
): Pick<Digest, "newPerPod" | "pooledPerPod"> {
  const fresh = new Map(senders.map((sender) => [sender, 0]));
  const known = new Map(senders.map((sender) => [sender, 0]));
  let kept = 0;
  const spans = new Map<string, readonly [number, number]>();
  for (const [pod, { events, added }] of lives) {
    const until = Math.min(timeOf(events, "deleted") ?? ended, ended);
    for (const sender of senders) {
      const from = Math.max(added.get(sender) ?? Infinity, timeOf(events, "ready") ?? Infinity, countedFrom);
      if (until <= from) continue;
      spans.set(`${pod} ${sender}`, [from, until]);
      known.set(sender, known.get(sender)! + until - from);
    }
  }
  for (const { pod, sender, reused, sent } of records) {
    const span = spans.get(`${pod} ${sender}`);
    if (!span || sent === undefined || sent < span[0] || sent > span[1]) continue;
    if (reused) kept++;
    else fresh.set(sender, fresh.get(sender)! + 1);
  }
  const all = senders.reduce((sum, sender) => sum + known.get(sender)!, 0);
  const perSecond = (count: number, span: number): number =>
    span > 0 ? +((1_000 * count) / span).toFixed(2) : 0;
  return {
    newPerPod: senders.map((sender) => perSecond(fresh.get(sender)!, known.get(sender)!)),
    pooledPerPod: perSecond(kept, all / senders.length),
  };
}

function slowOf({ records }: RunRecording): [number, number][] {
  const taken: number[] = [];
  for (const { reused, kind, outcome, sent, finished } of records)
    if (reused && kind === "quick" && outcome === "ok" && sent !== undefined && finished !== undefined)
      taken.push(finished - sent);
  return [20, 50, 100, 200, 300, 500, 800].map((least) => [
    least,
    +(taken.filter((time) => time > least).length / Math.max(1, taken.length)).toPrecision(3),
  ]);
}

function openOf(lives: ReadonlyMap<string, Life>): number {
  const open = [...lives.values()].flatMap((life) => {
    const detail = said(life, "lame-duck")?.detail as { open?: number } | undefined;
    return detail?.open ?? [];
  });
  return open.length === 0 ? 0 : +(open.reduce((sum, count) => sum + count, 0) / open.length).toFixed(1);
}

function twentieths(values: readonly number[]): number[] {
  const sorted = values.toSorted((a, b) => a - b);
  if (sorted.length === 0) return [];
  return Array.from({ length: 21 }, (_, index) => sorted[Math.round((index / 20) * (sorted.length - 1))]!);
}
