import { Drain, type Decision, type DrainConfig, type Observation, type StopReason } from "@lameduck/drain";
import type { Clock } from "../clock.ts";
import type { Recording } from "./recording.ts";
import type { Traffic } from "../protocols/watch.ts";

/** The decision, told what the watched servers see with its time; what it is told and what it answers is recorded. */
export class Evidence extends Drain implements Traffic {
  readonly #clock: Clock;
  readonly #onIdle: () => void;
  readonly #recording: Recording | undefined;
  /** Called once, where a new connection shows that the pod was released too early. */
  onOverruled: (() => void) | undefined;
  #inFlight = 0;
  #busy = 0;

  constructor(config: DrainConfig, clock: Clock, onIdle: () => void, recording?: Recording) {
    super(config);
    this.#clock = clock;
    this.#onIdle = onIdle;
    this.#recording = recording;
    this.observe({ type: "watching", at: clock.now() });
  }

  override observe(observation: Observation): void {
    super.observe(observation);
    if (this.onOverruled && this.release.overruled) this.#overruled(this.onOverruled);
    this.#recording?.observed(observation, this.#clock.now());
  }

  override decide(now: number): Decision {
    const decision = super.decide(now);
    this.#recording?.decided(now, decision);
    return decision;
  }

  /** The hold is over. */
  end(at: number, reason: StopReason): void {
    this.#recording?.end(at, reason);
  }

  connection(sender: string, at = this.#clock.now()): void {
    this.observe({ type: "arrival", at, sender, kind: "connection" });
  }

  request(sender: string, asked: boolean): void {
    this.observe({ type: "arrival", at: this.#clock.now(), sender, kind: "request", asked });
  }

  asked(sender: string, requests: number): void {
    if (requests > 0) this.observe({ type: "asked", at: this.#clock.now(), sender, requests });
  }

  inFlight(change: number): void {
    this.#inFlight += change;
    this.observe({ type: "in-flight", at: this.#clock.now(), change });
    if (this.#inFlight + this.#busy === 0) this.#onIdle();
  }

  /** Takes an observation from outside this process, which may end a wait. */
  observed(observation: Observation): void {
    this.observe(observation);
    this.#onIdle();
  }

  #overruled(notify: () => void): void {
    this.onOverruled = undefined;
    queueMicrotask(notify);
  }

  /** Counts work that is no request but must be finished like a request. */
  trackWork(): Disposable {
    let held = true;
    this.#busy++;
    this.observe({ type: "in-flight", at: this.#clock.now(), change: 1 });
    const release = (): void => {
      if (!held) return;
      held = false;
      this.#busy--;
      this.observe({ type: "in-flight", at: this.#clock.now(), change: -1 });
      if (this.#inFlight + this.#busy === 0) this.#onIdle();
    };
    return { [Symbol.dispose]: release };
  }

  get leases(): number {
    return this.#busy;
  }

  get requestsInFlight(): number {
    return this.#inFlight;
  }
}
