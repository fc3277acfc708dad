import {
  type LoadError,
  parseLoad,
  type LoadOptions,
  type LoadPlan,
  type GeneratorSender,
  type PodCount,
  type Progress,
  type RecordNews,
  RunningGenerator,
  judge,
  type Judgement,
  requireOwnTarget,
  type EndpointState,
  checkSenders,
  type Propagation,
  Propagator,
  isProxy,
  type SenderSpec,
} from "@lameduck/load";
import type { RunClock, Endpoint, EndpointListener, RequestRecord, SenderEvent } from "@lameduck/accounting";
import { amend, type ProxyOutcome } from "./proxy-outcome.ts";
import { ProxyHosts } from "./hosts.ts";

export interface FleetOptions {
  readonly clock: RunClock;
  readonly senders: readonly SenderSpec[];
  /** How senders learn. */
  readonly propagation: Propagation;
  readonly load: LoadOptions;
  readonly seed: number;
  /** Called with every event of a sender, with the real time at which it happened. */
  readonly onEvent: (event: SenderEvent) => void;
  /** Called when a process of the fleet has died: the run is worth nothing any more. `stop` rejects with the same error. */
  readonly onFailure?: (error: LoadError) => void;
  /** Called with records as they come in. */
  readonly onRecords?: ((news: RecordNews) => void) | undefined;
  readonly signal?: AbortSignal;
}

/** Everything the load saw. */
interface LoadResult {
  readonly records: readonly RequestRecord[];
  /** When the last request had ended, on the run's clock. */
  readonly ended: number;
}

/** Starts every sender and the generator; resolves when all of them are ready for `begin`. */
export async function startFleet(options: FleetOptions): Promise<SenderFleet> {
  options.signal?.throwIfAborted();
  const plan = parseLoad(options.load);
  checkSenders(options.senders, plan.protocol);
  const fleet = new SenderFleet(options, plan);
  try {
    await fleet.start();
  } catch (error) {
    await fleet.close();
    throw error;
  }
  return fleet;
}

/** All senders of a run and the load that goes through them. The stage reports endpoints to it; it reports what its senders did. */
export class SenderFleet implements EndpointListener {
  readonly #options: FleetOptions;
  readonly #plan: LoadPlan;
  readonly #propagator: Propagator;
  readonly #states = new Map<string, EndpointState>();
  readonly #hosts: ProxyHosts;
  readonly #failed = Promise.withResolvers<never>();
  #generator: RunningGenerator | undefined;
  #hasBegun = false;
  #closed: Promise<void> | undefined;

  /** Use `startFleet`. */
  constructor(options: FleetOptions, plan: LoadPlan) {
    this.#options = options;
    this.#plan = plan;
    this.#propagator = new Propagator(
      options.seed,
      options.propagation,
      options.senders.map(({ name }) => name),
    );
    this.#hosts = new ProxyHosts({
      clock: options.clock,
      emit: options.onEvent,
      failed: (error: LoadError) => this.#fail(error),
    });
    // A rejection that nobody awaits yet must not end the process.
    this.#failed.promise.catch(() => undefined);
    options.signal?.addEventListener("abort", this.#aborted, { once: true });
  }

  /** Use `startFleet`. */
  async start(): Promise<void> {
    const { senders, clock, seed, propagation } = this.#options;
    const places = await this.#orFailed(this.#hosts.start(senders.filter(isProxy), propagation.spacing));
    const prepare = {
      origin: clock.origin,
      seed,
      plan: this.#plan,
      senders: senders.map((spec): GeneratorSender => {
        const common = { name: spec.name, spacing: propagation.spacing };
        return isProxy(spec) ? { ...common, proxy: places.get(spec.name)! } : { ...common, spec };
      }),
    };
    this.#generator = new RunningGenerator(prepare, "load", this.#options.onEvent, this.#options.onRecords);
    this.#generator.failed.catch((error: LoadError) => this.#fail(error));
    await this.#orFailed(this.#generator.ready);
  }

  ready(endpoint: Endpoint, at: number): void {
    requireOwnTarget(endpoint.address, `endpoint of ${endpoint.pod}`);
    const terminating = this.#states.get(endpoint.pod)?.terminating ?? false;
    this.#spread({ endpoint, serving: true, terminating, listed: true }, at);
  }

  unready(pod: string, at: number): void {
    this.#alter(pod, { serving: false }, at);
  }

  terminating(pod: string, at: number): void {
    this.#alter(pod, { terminating: true }, at);
  }

  gone(pod: string, at: number): void {
    this.#alter(pod, { serving: false, listed: false }, at);
  }

  /** Begins the load. Resolves with the time it began, on the run's clock. */
  async begin(): Promise<number> {
    const began = await this.#orFailed(this.#started.begin());
    this.#hasBegun = true;
    return began;
  }

  /** Live counts, some 0.2 s old. */
  progress(): Progress {
    return this.#started.progress;
  }

  /** The same by pod; "" where the pod is not known. */
  get byPod(): ReadonlyMap<string, PodCount> {
    return this.#started.byPod;
  }

  /** How long a request may take, milliseconds. */
  get timeout(): number {
    return this.#plan.timeout;
  }

  /** Whether requests work, by what was known 0.2 s ago. @param output what the program wrote. */
  judge(output: readonly string[] = [], least?: number): Judgement {
    const { senders } = this.#options;
    const named = this.#started.trials.map((trial) => ({
      ...trial,
      sender: senders[trial.sender]?.name ?? "",
    }));
    return judge(named, this.#plan, output, least);
  }

  /** Ends the load, waits for what is in flight (at most its time-out, or not at all), then ends every process. */
  async stop(abandon = false): Promise<LoadResult> {
    if (!this.#hasBegun) {
      await this.close();
      return { records: [], ended: 0 };
    }
    try {
      await this.#orFailed(this.#started.stop(abandon));
      const ended = this.#options.clock.now();
      const outcomes = await this.#orFailed(this.#hosts.outcomes());
      return { records: this.#read(outcomes), ended };
    } finally {
      await this.close();
    }
  }

  /** Ends every process at once, and loses records. Resolves when the last process has ended. */
  close(): Promise<void> {
    this.#options.signal?.removeEventListener("abort", this.#aborted);
    this.#closed ??= Promise.all([this.#generator?.close(), this.#hosts.close()]).then(() => undefined);
    return this.#closed;
  }

  readonly #aborted = (): void => {
    this.#failed.reject(this.#options.signal?.reason);
    void this.close();
  };

  #alter(pod: string, change: Partial<EndpointState>, at: number): void {
    const known = this.#states.get(pod);
    // No sender ever learnt of a pod that was never ready.
    if (known) this.#spread({ ...known, ...change }, at);
  }

  #spread(state: EndpointState, at: number): void {
    const { pod } = state.endpoint;
    if (state.listed) this.#states.set(pod, state);
    else this.#states.delete(pod);
    for (const drawn of this.#propagator.changes(state, at)) {
      // Before the load begins there is no delay: these pods have existed for long.
      const change = this.#hasBegun ? drawn : { ...drawn, at };
      this.#generator?.learn(change);
      this.#hosts.learn(change);
    }
  }

  #read(outcomes: ReadonlyMap<number, ProxyOutcome>): RequestRecord[] {
    const proxies = new Map(this.#options.senders.filter(isProxy).map(({ name, kind }) => [name, kind]));
    return this.#started.records.map((record) => {
      const kind = record.outcome === "ok" ? undefined : proxies.get(record.sender);
      return kind === undefined ? record : amend(record, outcomes.get(record.id), kind);
    });
  }

  /** @throws {Error} before `start`. */
  get #started(): RunningGenerator {
    if (!this.#generator) throw new Error("the fleet was not started");
    return this.#generator;
  }

  #fail(error: LoadError): void {
    this.#failed.reject(error);
    this.#options.onFailure?.(error);
  }

  #orFailed<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.#failed.promise]);
  }
}
