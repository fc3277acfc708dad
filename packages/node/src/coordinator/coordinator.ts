import { isIP } from "node:net";
import { messageOf } from "@lameduck/drain/common";
import { sleep, untilSettled, type Clock } from "../clock.ts";
import type { Evidence } from "../hold/evidence.ts";
import { parseAnswer, type Answer } from "./answer.ts";
import type { CoordinatorSettings, Mode } from "./place.ts";
import type { Said } from "./said.ts";
import { Requests } from "./request.ts";

/** Seconds that the coordinator may keep a question. One that has stopped is found out soon after. */
const patience = 5;
/** Milliseconds beyond them, as for any answer. */
const allowance = 2_000;
/** Milliseconds between two questions: at least, and after failures. */
const shortestPause = 100;
const longestPause = 2_000;
/**
 * A Service may lead to a dead coordinator for a moment. So one failure is no silence yet. Three failures are, and so is a second without an answer after
 * a failure.
 */
const mostFailures = 3;
const longestFailing = 1_000;
/** How often what the pod says of itself is said, where nobody takes it. */
const attempts = 3;
/** Addresses of senders that are told. */
const mostSenders = 64;
/** Milliseconds by which a process may end later, so that its end is known. */
const farewell = 500;

/** What is known of the pod's consumers, for people. */
export interface Acknowledgements {
  /** "silent": the coordinator does not answer. */
  readonly state: Answer["state"] | "silent";
  /** How many consumers have let go, of how many: "4/5". */
  readonly consumers: string | null;
  /** Whom it waits for. */
  readonly behind: string | null;
}

/**
 * Asks the coordinator whether all consumers have let go of the pod, from SIGTERM on, and tells it how the termination goes. Whatever it answers, or does
 * not, is an observation like any other: the decision is taken elsewhere.
 */
export class Coordinator {
  readonly #evidence: Evidence;
  readonly #clock: Clock;
  readonly #say: (message: string) => void;
  readonly #ended = new AbortController();
  readonly #requests: Requests | undefined;
  /** Matters that have been told to people. */
  readonly #told = new Set<string>();
  #mode: Mode;
  #answer: Answer | undefined;
  #isBegun = false;
  #isSilent = false;
  #telling: Promise<void> = Promise.resolve();
  #said: Said = {};

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

  get known(): Acknowledgements | undefined {
    const { state, consumers = null, behind = null } = this.#answer ?? {};
    if (this.#isSilent) return { state: "silent", consumers, behind };
    return state && { state, consumers, behind };
  }

  /** To be called once the hold has begun. */
  begin(said: Said): void {
    this.#isBegun = true;
    this.#evidence.onOverruled = () => this.#overruled();
    void this.#ask();
    this.tell({ ...said, senders: this.#senders() });
  }

  /** What the pod says of itself, in the order said, each time with all that it has said before: that may have reached nobody. */
  tell(said: Said): void {
    if (!this.#isBegun) return;
    this.#said = { ...this.#said, ...said };
    const lines = Object.entries(this.#said).filter(([, value]) => value !== "");
    const body = lines.map(([key, value]) => `${key}: ${value.replaceAll(/\s+/g, " ")}\n`).join("");
    this.#telling = this.#telling.then(() => this.#post(body));
  }

  /** The last word: waited for a moment, where somebody listens. */
  async end(said: Said, within: number): Promise<void> {
    if (this.#answer && !this.#isSilent) {
      this.tell(said);
      await untilSettled(this.#telling, Math.min(farewell, within));
    }
    this.#ended.abort();
  }

  /** Who sends, by the pod's own evidence: addresses, those first that are waited for. */
  #senders(): string {
    const suspects = this.#evidence.drain.suspects(this.#clock.now());
    const names = suspects.flatMap(({ sender }) => (sender !== undefined && isIP(sender) ? [sender] : []));
    return names.slice(0, mostSenders).join(" ");
  }

  async #ask(): Promise<void> {
    if (!this.#requests) return this.#silent();
    let failures = 0;
    let answered = new AbortController();
    while (!this.#ended.signal.aborted) {
      const from = this.#clock.now();
      // The first question, and each one after a failure, is answered at once.
      const seen = failures > 0 ? undefined : this.#answer?.state;
      const wait = seen === undefined ? 0 : patience;
      const query = `&wait=${wait}${seen === undefined ? "" : `&seen=${seen}`}`;
      try {
        const answer = parseAnswer(await this.#requests.send(query, undefined, wait * 1_000 + allowance));
        if (!answer) throw new Error("no answer of version 1");
        failures = 0;
        answered.abort();
        this.#heard(answer);
      } catch (error) {
        if (this.#ended.signal.aborted) return;
        failures++;
        if (failures >= mostFailures) this.#silent(messageOf(error));
        else if (failures === 1) {
          answered = new AbortController();
          void this.#silentUnless(answered.signal, messageOf(error));
        }
      }
      const pause = Math.min(longestPause, shortestPause * 2 ** failures) * (0.5 + Math.random());
      const left = failures > 0 ? pause : shortestPause - (this.#clock.now() - from);
      await sleep(left, this.#ended.signal);
    }
  }

  async #silentUnless(answered: AbortSignal, problem: string): Promise<void> {
    const over = AbortSignal.any([answered, this.#ended.signal]);
    await sleep(longestFailing, over);
    if (!over.aborted) this.#silent(problem);
  }

  #heard(answer: Answer): void {
    const { state, releasedFor, consumers, last, behind, mode } = answer;
    this.#answer = answer;
    this.#isSilent = false;
    this.#mode = mode ?? this.#mode;
    const now = this.#clock.now();
    if (this.#evidence.drain.release.overruled) this.#unreleased(true);
    else if (state === "released") {
      const told = { ...(consumers !== undefined && { consumers }), ...(last !== undefined && { last }) };
      this.#evidence.heard({ type: "released", at: now - releasedFor, ...told });
    } else this.#unreleased(state !== "waiting");
    if (state === "incomplete" || state === "unknown")
      this.#once(
        "state",
        `the coordinator cannot release this pod (${state}${behind === undefined ? "" : `: ${behind}`})`,
      );
  }

  /** What has been released has been let go: that nobody answers any more takes nothing back. */
  #silent(problem?: string): void {
    this.#isSilent = true;
    if (this.#answer?.state !== "released") this.#unreleased(true);
    if (problem !== undefined) this.#once("silent", `the coordinator does not answer (${problem})`);
  }

  #unreleased(isLocal: boolean): void {
    const local = isLocal && this.#mode === "availability";
    this.#evidence.heard({ type: "unreleased", at: this.#clock.now(), ...(local && { local }) });
  }

  #overruled(): void {
    const { overruled } = this.#evidence.drain.release;
    if (!overruled) return;
    const { consumers = "all" } = this.#answer ?? {};
    this.#once(
      "overruled",
      `released by ${consumers} consumers, and ${overruled.sender} has connected since`,
    );
    this.#unreleased(true);
    this.tell({ overruled: isIP(overruled.sender) ? overruled.sender : "" });
  }

  /** Each matter is told once in a termination. */
  #once(matter: "silent" | "state" | "overruled", message: string): void {
    if (this.#told.has(matter)) return;
    this.#told.add(matter);
    const { kind } = this.#evidence.drain.config.policy;
    const waits = kind === "acknowledged" && this.#mode === "consistency";
    this.#say(`${message}; ${waits ? "the hold waits, to its cap" : "the pod's own evidence decides"}`);
  }

  async #post(body: string): Promise<void> {
    for (let attempt = 0; attempt < attempts && this.#requests; attempt++) {
      if (this.#ended.signal.aborted) return;
      try {
        await this.#requests.send("", body, allowance);
        return;
      } catch {
        await sleep(shortestPause * 2 ** attempt * (0.5 + Math.random()), this.#ended.signal);
      }
    }
  }
}
