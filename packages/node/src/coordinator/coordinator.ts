import { isIP } from "node:net";
import { messageOf } from "@lameduck/drain/common";
import {
  type Mode,
  parsePodAnswer,
  type PodAnswer,
  type PodReport,
  type ReleaseState,
  writePodReport,
} from "@lameduck/protocol/pod";
import { sleep, untilSettled, type Clock } from "../clock.ts";
import type { Evidence } from "../hold/evidence.ts";
import type { CoordinatorSettings } from "../options/coordinator.ts";
import { Requests } from "./request.ts";

/** Seconds of a long poll. A coordinator that has stopped is noticed soon after. */
const longPollSeconds = 5;
/** An answer may take as much longer. */
const allowanceMs = 2_000;
/** Between two questions; after failures it grows to `longestPauseMs`. */
const shortestPauseMs = 100;
/** After a release the pod stops soon. */
const pauseOnceReleasedMs = 1_000;
const longestPauseMs = 2_000;
/**
 * A Service may lead to a dead coordinator for a moment. So one failure is no silence yet. Three failures are, and so is a second without an answer after
 * a failure.
 */
const mostFailures = 3;
const longestFailingMs = 1_000;
/** How often a report is sent, where nobody takes it. */
const attempts = 3;
/** Addresses of senders in a report. */
const mostSenders = 64;
/** A process may end by so much later, to report its end. */
const lastReportTimeoutMs = 500;

/** What is known of the pod's consumers, for people. */
export interface Acknowledgements {
  /** "silent": the coordinator does not answer. */
  readonly state: ReleaseState | "silent";
  /** How many consumers have let go, of how many: "4/5". */
  readonly consumers: string | null;
  /** The consumer that has not let go yet. */
  readonly behind: string | null;
}

/**
 * Asks the coordinator whether all consumers have let go of the pod, from SIGTERM on, and reports how the termination goes. Its answers, and its
 * silence, are observations: the decision is taken elsewhere.
 */
export class Coordinator {
  readonly #evidence: Evidence;
  readonly #clock: Clock;
  readonly #say: (message: string) => void;
  readonly #ended = new AbortController();
  readonly #requests: Requests | undefined;
  /** The matters that have been logged already. */
  readonly #logged = new Set<string>();
  /** Somebody has asked it to end the hold. */
  onEnd: () => void = () => {};
  #mode: Mode;
  #answer: PodAnswer | undefined;
  /** The state that the latest answer had. */
  #seen: ReleaseState | undefined;
  #isBegun = false;
  #isSilent = false;
  #reporting: Promise<void> = Promise.resolve();
  #reported: PodReport = {};

  constructor(
    { place, mode }: CoordinatorSettings,
    evidence: Evidence,
    clock: Clock,
    say: (message: string) => void,
  ) {
    this.#evidence = evidence;
    this.#clock = clock;
    this.#say = say;
    this.#mode = mode;
    this.#requests = place && new Requests(place, this.#ended.signal);
  }

  get acknowledgements(): Acknowledgements | undefined {
    const { state, consumers = null, behind = null } = this.#answer ?? {};
    if (this.#isSilent) return { state: "silent", consumers, behind };
    return state && { state, consumers, behind };
  }

  /** The pod ends, and nobody deletes it: its endpoints stay ready while its readiness does. */
  get isUndeleted(): boolean {
    return this.#answer?.isUndeleted === true;
  }

  /** To be called once the hold has begun. */
  begin(first: PodReport): void {
    this.#isBegun = true;
    this.#evidence.onOverruled = () => this.#overruled();
    void this.#ask();
    this.report({ ...first, senders: this.#senders() });
  }

  /** Reports are sent in order, each with everything that was reported before, since an earlier report may be lost. */
  report(news: PodReport): void {
    if (!this.#isBegun) return;
    this.#reported = { ...this.#reported, ...news };
    const body = writePodReport(this.#reported);
    this.#reporting = this.#reporting.then(() => this.#post(body));
  }

  /** The last report is waited for a moment, where the coordinator answers. */
  async end(last: PodReport, within: number): Promise<void> {
    if (this.#answer && !this.#isSilent) {
      this.report(last);
      await untilSettled(this.#reporting, Math.min(lastReportTimeoutMs, within));
    }
    this.#ended.abort();
  }

  /** The senders by the pod's own evidence: their addresses, pending ones first. */
  #senders(): string {
    const pendingSenders = this.#evidence.pendingSenders(this.#clock.now());
    const names = pendingSenders.flatMap(({ sender }) =>
      sender !== undefined && isIP(sender) ? [sender] : [],
    );
    return names.slice(0, mostSenders).join(" ");
  }

  async #ask(): Promise<void> {
    if (!this.#requests) return this.#silent();
    let failures = 0;
    let answered = new AbortController();
    while (!this.#ended.signal.aborted) {
      const from = this.#clock.now();
      // The first question, and each one after a failure, is answered at once.
      const seen = failures > 0 ? undefined : this.#seen;
      const wait = seen === undefined ? 0 : longPollSeconds;
      const query = `&wait=${wait}${seen === undefined ? "" : `&seen=${seen}`}`;
      try {
        const answer = parsePodAnswer(
          await this.#requests.send(query, undefined, wait * 1_000 + allowanceMs),
        );
        // The end was asked for at the pod itself, so it counts whatever the coordinator knows.
        if (answer.endsHold) this.onEnd();
        // Another replica may know the pod.
        if (answer.state === "unknown")
          throw new Error(`the state is unknown: ${answer.behind ?? "not said why"}`);
        failures = 0;
        answered.abort();
        this.#take(answer);
      } catch (error) {
        if (this.#ended.signal.aborted) return;
        failures++;
        if (failures >= mostFailures) this.#silent(messageOf(error));
        else if (failures === 1) {
          answered = new AbortController();
          void this.#silentUnless(answered.signal, messageOf(error));
        }
      }
      const pause = Math.min(longestPauseMs, shortestPauseMs * 2 ** failures) * (0.5 + Math.random());
      const least =
        this.#seen === "released" ? pauseOnceReleasedMs : shortestPauseMs - (this.#clock.now() - from);
      const left = failures > 0 ? pause : least;
      await sleep(left, this.#ended.signal);
    }
  }

  async #silentUnless(answered: AbortSignal, problem: string): Promise<void> {
    const over = AbortSignal.any([answered, this.#ended.signal]);
    await sleep(longestFailingMs, over);
    if (!over.aborted) this.#silent(problem);
  }

  #take(answer: PodAnswer): void {
    const { state, withdrawnMs, releasedMs = 0, assumedMs, consumers, last, behind, mode } = answer;
    this.#seen = state;
    this.#isSilent = false;
    this.#mode = mode ?? this.#mode;
    // A release stays valid: another replica may not know of it yet. Only a pod that is published again is no longer released.
    if (this.#answer?.state === "released" && state !== "released" && withdrawnMs !== undefined) return;
    this.#answer = answer;
    if (answer.isUndeleted && !this.#logged.has("undeleted")) {
      this.#logged.add("undeleted");
      this.#say("nobody deletes this pod: its kubelet ends it by itself, and readiness() fails from now on");
    }
    const now = this.#clock.now();
    if (this.#evidence.release.overruled) this.#unreleased(true);
    else if (state === "released") {
      const by = { ...(consumers !== undefined && { consumers }), ...(last !== undefined && { last }) };
      this.#evidence.observed({ type: "released", at: now - releasedMs, ...by });
    } else this.#unreleased(state !== "waiting", assumedMs);
    if (state === "incomplete")
      this.#once(
        "state",
        `the coordinator cannot release this pod (${state}${behind === undefined ? "" : `: ${behind}`})`,
      );
  }

  /** A release stays valid when the coordinator falls silent. */
  #silent(problem?: string): void {
    this.#isSilent = true;
    if (this.#answer?.state !== "released") this.#unreleased(true);
    if (problem !== undefined) this.#once("silent", `the coordinator does not answer (${problem})`);
  }

  #unreleased(isLocal: boolean, assumed = 0): void {
    const local = isLocal && this.#mode === "availability";
    this.#evidence.observed({
      type: "unreleased",
      at: this.#clock.now(),
      ...(local && { local }),
      ...(assumed > 0 && { assumed }),
    });
  }

  #overruled(): void {
    const { overruled } = this.#evidence.release;
    if (!overruled) return;
    const { consumers = "all" } = this.#answer ?? {};
    this.#once("overruled", `released by ${consumers} senders, and ${overruled.sender} has connected since`);
    this.#unreleased(true);
    this.report({ overruled: isIP(overruled.sender) ? overruled.sender : "" });
  }

  /** Each matter is logged once in a termination. */
  #once(matter: "silent" | "state" | "overruled", message: string): void {
    if (this.#logged.has(matter)) return;
    this.#logged.add(matter);
    const { kind } = this.#evidence.config.policy;
    const waits = kind === "acknowledged" && this.#mode === "consistency";
    this.#say(`${message}; ${waits ? "the hold waits, to its cap" : "the pod's own evidence decides"}`);
  }

  async #post(body: string): Promise<void> {
    for (let attempt = 0; attempt < attempts && this.#requests; attempt++) {
      if (this.#ended.signal.aborted) return;
      try {
        await this.#requests.send("", body, allowanceMs);
        return;
      } catch {
        await sleep(shortestPauseMs * 2 ** attempt * (0.5 + Math.random()), this.#ended.signal);
      }
    }
  }
}
