import type { ServerResponse } from "node:http";
import type { PolicySettings } from "../settings.ts";
import type { Termination } from "../state/termination.ts";
import type { Terminations } from "../state/terminations.ts";
import { longestAtEndMs } from "./consumer-requests.ts";
import { parsePodReport, writePodAnswer } from "@lameduck/protocol";
import { LongPolls } from "./long-polls.ts";

interface PodRequestsOptions {
  readonly terminations: Terminations;
  readonly settings: PolicySettings;
  readonly now: () => number;
  /** Seconds without a sign that the EndpointSlices are up to date. */
  readonly unheard: () => number;
  /** Passes a pod's report on to the other replicas. */
  readonly onPodReport: (record: Termination, text: string) => void;
  readonly onOverruled: (record: Termination) => void;
}

export interface Ask {
  readonly uid: string;
  /** Milliseconds that the answer may take. */
  readonly wait: number;
  /** The state that it knows. */
  readonly seen: string | undefined;
  /** The pod asks, and so it ends. */
  readonly isPod?: boolean;
}

/** A request that is answered when there is news, or at a time. */
interface ParkedPod {
  readonly response: ServerResponse;
  /** When it is answered at the latest, milliseconds by the coordinator's clock. */
  readonly until: number;
  readonly record: Termination;
}

/** Consumers that an answer names; it counts the others. */
const mostBehind = 5;
/** Milliseconds that an answer may take which repeats the end: it may have been lost, and a pod may not know it. */
const repeatMs = 1_000;
/** A deletion is written before anybody can know of it. One that the watch does not show so long after the pod's first question is none. */
const deletionSeenMs = 1_000;
/** Long polls of one pod; it needs one. */
const mostWaiting = 4;

/** Answers terminating pods how far their consumers are, and takes the pods' reports. */
export class PodRequests {
  readonly #options: PodRequestsOptions;
  readonly #parked = new LongPolls<ParkedPod>();
  readonly #toldToEnd = new WeakSet<Termination>();
  /** When each pod has asked first, by the coordinator's clock. */
  readonly #askedFirst = new WeakMap<Termination, number>();
  readonly #toldUndeleted = new WeakSet<Termination>();
  #isClosing = false;

  constructor(options: PodRequestsOptions) {
    this.#options = options;
  }

  get parked(): number {
    return this.#parked.size;
  }

  /** The caller has checked that the pod exists and that the client may ask for it. */
  ask({ uid, wait, seen, isPod }: Ask, response: ServerResponse): void {
    const { terminations, now } = this.#options;
    const at = now();
    // A pod that asks is terminating, even if the watch has not reported its deletion yet.
    const record = terminations.follow(uid, at);
    if (!record) {
      sendText(response, 200, writePodAnswer({ state: "unknown" }), this.#isClosing);
      return;
    }
    if (isPod && !this.#askedFirst.has(record)) this.#askedFirst.set(record, at);
    const isNews =
      record.state !== seen ||
      (record.isToEnd && !this.#toldToEnd.has(record)) ||
      this.#undeletedAt(record) <= at;
    if (isNews || wait === 0 || this.#parked.of(uid).size >= mostWaiting)
      sendText(response, 200, this.#text(record), this.#isClosing);
    else {
      const longest = Math.min(
        this.#isClosing ? longestAtEndMs : Infinity,
        record.isToEnd ? repeatMs : Infinity,
      );
      const until = Math.min(at + Math.min(wait, longest), this.#undeletedAt(record));
      const one = { record, response, until };
      this.#parked.add(uid, one);
      response.once("close", () => this.#parked.take(uid, one));
    }
  }

  report(uid: string, text: string, isPassedOn: boolean): void {
    const { terminations, now, onPodReport, onOverruled } = this.#options;
    const record = terminations.follow(uid, now());
    if (!record) return;
    const happened = terminations.report(record, parsePodReport(text), now());
    if (isPassedOn) return;
    onPodReport(record, text);
    if (happened.includes("overruled")) onOverruled(record);
  }

  /** Answers the pod's long polls, because there is news for it. */
  answer(record: Termination): void {
    for (const one of this.#parked.of(record.uid)) this.#release(one);
  }

  sweep(): void {
    const now = this.#options.now();
    for (const one of this.#parked.all()) if (now >= one.until) this.#release(one);
  }

  close(): void {
    this.#isClosing = true;
    for (const one of this.#parked.all()) this.#release(one);
  }

  /** When the pod is to be told that nobody deletes it; never where that is not so, or where it has been told. */
  #undeletedAt(record: Termination): number {
    const first = this.#askedFirst.get(record);
    return first === undefined || !record.isHeldOnly || this.#toldUndeleted.has(record)
      ? Infinity
      : first + deletionSeenMs;
  }

  #release(one: ParkedPod): void {
    if (!this.#parked.take(one.record.uid, one) || one.response.destroyed) return;
    sendText(one.response, 200, this.#text(one.record), this.#isClosing);
  }

  #text(record: Termination): string {
    const { terminations, settings, now, unheard } = this.#options;
    const { releases, progress } = terminations;
    const at = now();
    const rules = settings.of(record.namespace);
    const { state, withdrawnAt, releasedAt, isToEnd } = record;
    if (isToEnd) this.#toldToEnd.add(record);
    if (state === "unknown")
      return writePodAnswer({
        state,
        behind: `endpointslices (not heard of for ${Math.round(unheard())} s)`,
        endsHold: isToEnd,
      });
    const isUndeleted =
      record.isHeldOnly && (this.#toldUndeleted.has(record) || this.#undeletedAt(record) <= at);
    if (isUndeleted) this.#toldUndeleted.add(record);
    const { relevant, applied } = releases.count(record, at);
    const behind = state === "released" ? [] : progress.behind(record, at);
    const named = behind
      .slice(0, mostBehind)
      .map(({ name, how, reason }) => `${name} (${how}${reason === undefined ? "" : `; ${reason}`})`);
    const more = behind.length > mostBehind ? [`and ${behind.length - mostBehind} more`] : [];
    const since = (then: number | undefined): number | undefined =>
      then === undefined ? undefined : Math.max(0, Math.round(at - then));
    const assumedMs = state === "released" ? 0 : Math.round(releases.assumedMs(record, at));
    return writePodAnswer({
      state,
      withdrawnMs: since(withdrawnAt),
      releasedMs: state === "released" ? since(releasedAt) : undefined,
      consumers: `${applied}/${relevant}`,
      behind: named.length === 0 ? undefined : [...named, ...more].join(", "),
      assumedMs: assumedMs > 0 ? assumedMs : undefined,
      last: state === "released" ? progress.last(record) : undefined,
      basis: progress.basis(record),
      // Nobody will ever release it.
      mode: terminations.isUnlisted(record, at) ? "availability" : rules.mode,
      endsHold: isToEnd,
      isUndeleted: isUndeleted || undefined,
    });
  }
}

export function sendText(response: ServerResponse, status: number, text: string, isLast = false): void {
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    ...(isLast ? { connection: "close" } : {}),
  });
  response.end(text);
}
