import type { ServerResponse } from "node:http";
import type { PolicySettings } from "../settings.ts";
import type { TerminationRecord } from "../state/record.ts";
import type { Suspects } from "../suspects.ts";
import type { Terminations } from "../state/terminations.ts";
import { longestAtEnd } from "./consumer-desk.ts";
import { readLines, writeLines } from "./lines.ts";
import { ParkingLot, type Parked } from "./parked.ts";

/** What a pod may say of itself. */
export const saidKeys: ReadonlySet<string> = new Set([
  "phase",
  "program",
  "policy",
  "reason",
  "held-ms",
  "floor-ms",
  "last-arrival-ms",
  "connections",
  "requests",
  "senders",
  "overruled",
  "oldest-wait",
  "lesson",
]);

export interface PodDeskOptions {
  readonly terminations: Terminations;
  readonly settings: PolicySettings;
  readonly now: () => number;
  /** What a pod said, for the other replicas. */
  readonly onSaid: (record: TerminationRecord, text: string) => void;
  readonly onOverruled: (record: TerminationRecord, address: string) => void;
  readonly suspects: Suspects;
}

export interface Ask {
  readonly uid: string;
  /** Milliseconds that the answer may take. */
  readonly wait: number;
  /** The state that it knows. */
  readonly seen: string | undefined;
}

interface ParkedPod extends Parked {
  readonly record: TerminationRecord;
}

/** Named in an answer; the others are counted. */
const mostBehind = 5;
/** Requests of one pod that wait: it needs one. */
const mostWaiting = 4;

/** Tells terminating pods how far their consumers are, and takes what they say of themselves. */
export class PodDesk {
  readonly #options: PodDeskOptions;
  readonly #parked = new ParkingLot<ParkedPod>();
  #isClosing = false;

  constructor(options: PodDeskOptions) {
    this.#options = options;
  }

  get parked(): number {
    return this.#parked.size;
  }

  /** The pod exists, and who asks is entitled to. */
  ask({ uid, wait, seen }: Ask, response: ServerResponse): void {
    const { terminations, now } = this.#options;
    const at = now();
    // One that asks is terminating, even where that has not been read yet.
    const record = terminations.ask(uid, at);
    if (!record) {
      sendText(response, 200, writeLines({ state: "unknown" }), this.#isClosing);
      return;
    }
    const isNews = record.state !== seen;
    if (isNews || wait === 0 || this.#parked.of(uid).size >= mostWaiting)
      sendText(response, 200, this.#text(record), this.#isClosing);
    else
      this.#parked.add(uid, {
        record,
        response,
        until: at + (this.#isClosing ? Math.min(wait, longestAtEnd) : wait),
      });
  }

  said(record: TerminationRecord, text: string, isPassedOn: boolean): void {
    const { terminations, now, onSaid, onOverruled, suspects } = this.#options;
    const fields = readLines(text, saidKeys);
    const { overruled } = fields;
    const isNew = overruled !== undefined && record.overruledBy === undefined;
    if (isNew) record.tooEarly = suspects.of(record, overruled);
    terminations.said(record, fields, now());
    if (isPassedOn) return;
    onSaid(record, text);
    if (isNew) onOverruled(record, overruled);
  }

  /** Its pod is to be told something else. */
  told(record: TerminationRecord): void {
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

  #release(one: ParkedPod): void {
    if (!this.#parked.take(one.record.uid, one) || one.response.destroyed) return;
    sendText(one.response, 200, this.#text(one.record), this.#isClosing);
  }

  #text(record: TerminationRecord): string {
    const { terminations, settings, now } = this.#options;
    const { releases, naming } = terminations;
    const at = now();
    const rules = settings.of(record.namespace);
    const { state, withdrawnAt, releasedAt } = record;
    const { relevant, applied } = releases.count(record, rules, at);
    const behind = state === "released" ? [] : naming.behind(record, rules, at);
    const named = behind.slice(0, mostBehind).map(({ name, how }) => `${name} (${how})`);
    const more = behind.length > mostBehind ? [`and ${behind.length - mostBehind} more`] : [];
    const since = (then: number | undefined): number | undefined =>
      then === undefined ? undefined : Math.max(0, Math.round(at - then));
    return writeLines({
      state,
      "withdrawn-ms": since(withdrawnAt),
      "released-ms": state === "released" ? since(releasedAt) : undefined,
      consumers: `${applied}/${relevant}`,
      behind: named.length === 0 ? undefined : [...named, ...more].join(", "),
      last: state === "released" ? naming.last(record, rules) : undefined,
      basis: naming.basis(record, rules),
      mode: rules.mode,
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
