import {
  LoadError,
  parseLoad,
  type LoadOptions,
  type LoadPlan,
  type FromGenerator,
  type GeneratorSender,
  type Progress,
  type ToGenerator,
  type Trial,
  judge,
  type Judgement,
  readRecords,
  type RecordChunk,
  requireOwnTarget,
  type EndpointState,
  checkSenders,
  Child,
  generatorProgram,
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
  /** How senders learn that have no way of their own. */
  readonly propagation: Propagation;
  readonly load: LoadOptions;
  readonly seed: number;
  /** Called with every event of a sender, with the real time at which it happened. */
  readonly onEvent: (event: SenderEvent) => void;
  /** Called when a process of the fleet has died: the run is worth nothing any more. `stop` rejects with the same error. */
  readonly onFailure?: (error: LoadError) => void;
  readonly signal?: AbortSignal;
}

/** Everything the load saw. */
interface LoadResult {
  readonly records: readonly RequestRecord[];
  /** When the last request had ended, on the run's clock. */
  readonly ended: number;
  /** How late the generator itself was, milliseconds. */
  readonly lateness: { readonly p50: number; readonly p99: number; readonly max: number };
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
  readonly #ready = Promise.withResolvers<void>();
  readonly #begun = Promise.withResolvers<number>();
  readonly #done = Promise.withResolvers<FromGenerator & { type: "done" }>();
  readonly #chunks: RecordChunk[] = [];
  #generator: Child<ToGenerator, FromGenerator> | undefined;
  #progress: Progress = { due: 0, finished: 0, lost: 0, notSent: 0, inFlight: 0 };
  #trials: readonly Trial[] = [];
  #hasBegun = false;
  #closed: Promise<void> | undefined;

  /** Use `startFleet`. */
  constructor(options: FleetOptions, plan: LoadPlan) {
    this.#options = options;
    this.#plan = plan;
    this.#propagator = new Propagator(
      options.seed,
      options.senders.map(({ name, propagation }) => ({
        name,
        propagation: propagation ?? options.propagation,
      })),
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
    const ports = await this.#orFailed(
      this.#hosts.start(
        senders.filter(isProxy).map((spec) => ({ spec, spacing: (spec.propagation ?? propagation).spacing })),
      ),
    );
    this.#generator = new Child({
      program: generatorProgram,
      received: (message) => this.#received(message),
      died: (how) => this.#fail(new LoadError("LAMEDUCK_GENERATOR_DIED", "load", `the generator ${how}`)),
    });
    this.#generator.send({
      type: "prepare",
      origin: clock.origin,
      seed,
      plan: this.#plan,
      senders: senders.map((spec): GeneratorSender => {
        const common = {
          name: spec.name,
          weight: spec.weight ?? 1,
          spacing: (spec.propagation ?? propagation).spacing,
        };
        const proxy = ports.get(spec.name);
        if (isProxy(spec) && proxy) return { ...common, proxy };
        return { ...common, spec: { ...spec, propagation: undefined } as never };
      }),
    });
    await this.#orFailed(this.#ready.promise);
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
    this.#generator?.send({ type: "begin" });
    const began = await this.#orFailed(this.#begun.promise);
    this.#hasBegun = true;
    return began;
  }

  /** Live counts, some 0.2 s old. */
  progress(): Progress {
    return this.#progress;
  }

  /** How long a request may take, milliseconds. */
  get timeout(): number {
    return this.#plan.timeout;
  }

  /** Whether requests work, by what was known 0.2 s ago. @param output what the program wrote. */
  judge(output: readonly string[] = [], least?: number): Judgement {
    const { senders } = this.#options;
    const named = this.#trials.map((trial) => ({ ...trial, sender: senders[trial.sender]?.name ?? "" }));
    return judge(named, this.#plan, output, least);
  }

  /** Ends the load, waits for what is in flight (at most its time-out, or not at all), then ends every process. */
  async stop(abandon = false): Promise<LoadResult> {
    if (!this.#hasBegun) {
      await this.close();
      return { records: [], ended: 0, lateness: { p50: 0, p99: 0, max: 0 } };
    }
    try {
      this.#generator?.send({ type: "stop", abandon });
      const done = await this.#orFailed(this.#done.promise);
      const ended = this.#options.clock.now();
      const outcomes = await this.#orFailed(this.#hosts.outcomes());
      return { records: this.#read(done.names, outcomes), ended, lateness: done.lateness };
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
      this.#generator?.send({ type: "change", change });
      this.#hosts.learn(change);
    }
  }

  #received(message: FromGenerator): void {
    switch (message.type) {
      case "ready":
        this.#ready.resolve();
        break;
      case "begun":
        this.#begun.resolve(message.at);
        break;
      case "event":
        this.#options.onEvent(message.event);
        break;
      case "progress":
        this.#progress = message.progress;
        this.#trials = message.trials;
        break;
      case "records":
        this.#chunks[message.index] = message.chunk;
        break;
      case "done":
        this.#progress = message.progress;
        this.#trials = message.trials;
        this.#done.resolve(message);
        break;
    }
  }

  #read(names: readonly string[], outcomes: ReadonlyMap<number, ProxyOutcome>): RequestRecord[] {
    const senders = this.#options.senders.map((sender) => sender.name);
    const records: RequestRecord[] = [];
    for (const chunk of this.#chunks)
      for (const record of readRecords(chunk, records.length, senders, names)) records.push(record);
    const proxies = new Map(this.#options.senders.filter(isProxy).map(({ name, kind }) => [name, kind]));
    return records.map((record) => {
      const kind = record.outcome === "ok" ? undefined : proxies.get(record.sender);
      return kind === undefined ? record : amend(record, outcomes.get(record.id), kind);
    });
  }

  #fail(error: LoadError): void {
    this.#failed.reject(error);
    this.#options.onFailure?.(error);
  }

  #orFailed<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.#failed.promise]);
  }
}
