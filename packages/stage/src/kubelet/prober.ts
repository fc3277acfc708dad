import type { Probe } from "@lameduck/manifests";
import type { StageClock } from "../clock.ts";

/** One run of a container, as its probes see it. */
interface Probed {
  readonly startedAt: number;
}

interface ProberOptions<Run extends Probed> {
  readonly probe: Probe;
  readonly clock: StageClock;
  /** The container's present run; undefined while it does not run, or while this probe has nothing to ask of it. */
  readonly subject: () => Run | undefined;
  readonly check: (run: Run) => Promise<boolean>;
  /** Called when the result counts: after as many equal ones in a row as the threshold asks for. */
  readonly onResult: (success: boolean, run: Run) => void;
}

/**
 * A worker of the kubelet's prober (pkg/kubelet/prober/worker.go): ticks from the moment the pod was added, not from the
 * container's start, so that the first look at a container comes up to one period after it.
 */
export class Prober<Run extends Probed> {
  readonly #options: ProberOptions<Run>;
  readonly #stopped = new AbortController();
  #waiting = new AbortController();
  #run: Run | undefined;
  #last: boolean | undefined;
  #inARow = 0;
  /** After a failure that kills the container nothing is asked until it has been started anew. */
  #onHold = false;

  constructor(options: ProberOptions<Run>) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { clock, probe } = this.#options;
    const period = probe.periodSeconds * 1_000;
    let next = clock.now();
    let inTurn = true;
    while (!this.#stopped.signal.aborted) {
      await this.#ask();
      // A probe out of turn moves no tick. A timer may fire a millisecond early, so the clock alone cannot distinguish the two.
      if (inTurn || clock.now() >= next) next += period;
      // Like Go's ticker: one tick is remembered while a probe runs long, more are dropped.
      while (next + period <= clock.now()) next += period;
      await clock.sleep(next - clock.now(), this.#waiting.signal);
      inTurn = !this.#waiting.signal.aborted;
      if (!inTurn) this.#waiting = new AbortController();
    }
  }

  /** Probes at once: a startup probe has just succeeded. */
  trigger(): void {
    this.#waiting.abort();
  }

  /** Until the next run of the container. */
  hold(): void {
    this.#onHold = true;
  }

  stop(): void {
    this.#stopped.abort();
    this.#waiting.abort();
  }

  async #ask(): Promise<void> {
    const { probe, clock, subject, check, onResult } = this.#options;
    const run = subject();
    if (!run) return;
    if (run !== this.#run) {
      this.#run = run;
      this.#last = undefined;
      this.#inARow = 0;
      this.#onHold = false;
    }
    // Whole seconds, as the kubelet compares them.
    if (this.#onHold || Math.trunc((clock.now() - run.startedAt) / 1_000) < probe.initialDelaySeconds) return;
    const success = await check(run);
    if (this.#stopped.signal.aborted || subject() !== run) return;
    this.#inARow = success === this.#last ? this.#inARow + 1 : 1;
    this.#last = success;
    if (this.#inARow >= (success ? probe.successThreshold : probe.failureThreshold)) onResult(success, run);
  }
}
