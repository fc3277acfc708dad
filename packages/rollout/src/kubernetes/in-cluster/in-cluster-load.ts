import { setTimeout as delay } from "node:timers/promises";
import type { RequestRecord } from "../../model/request.ts";
import type { LoadCounts, LoadSeen, LoadSource } from "../load-source.ts";
import { InClusterError } from "./errors.ts";
import { LoadJob } from "./job.ts";
import { LoadPod } from "./load-pod.ts";
import { notesOf } from "./notes.ts";
import { checkOptions, defaultImage, type InClusterOptions } from "./options.ts";
import { loadProgram } from "./program.ts";
import { jobWarnings, whyNotBegun } from "./start.ts";

const look = 500;
/** An image may have to be pulled. */
const longestStart = 180_000;
/** Time to read the logs when the load has ended, an API server that is away included; the pods stay that long. */
const linger = 90_000;
/** What the pods need beyond the load itself: to start, and to stop. */
const slack = 300_000;

/** The load as a Job in the cluster: every pod runs the same generator as here, and its log brings its requests back. */
export class InClusterLoad implements LoadSource {
  readonly failed: Promise<never>;
  readonly #options: InClusterOptions;
  readonly #job: LoadJob;
  readonly #pods = new Map<string, LoadPod>();
  readonly #over = new AbortController();
  readonly #failed = Promise.withResolvers<never>();
  readonly #epoch: number;
  #asked = 0;
  #stopped: Promise<LoadSeen> | undefined;
  #closed: Promise<void> | undefined;

  private constructor(options: InClusterOptions) {
    this.#options = options;
    this.#job = new LoadJob(options.kube, options.namespace);
    this.#epoch = options.clock.fromEpoch(0);
    this.failed = this.#failed.promise;
    // Nobody may be waiting when it happens.
    this.failed.catch(() => undefined);
    options.signal?.addEventListener("abort", () => this.#over.abort(), { once: true });
  }

  /** Makes the Job. @throws {InClusterError}, {KubernetesError}; nothing is left behind then. */
  static async start(options: InClusterOptions): Promise<InClusterLoad> {
    checkOptions(options);
    const program = await loadProgram();
    const load = new InClusterLoad(options);
    try {
      await load.#create(program);
    } catch (error) {
      await load.close();
      throw error;
    }
    return load;
  }

  /** Name of the Job and of the ConfigMap. */
  get name(): string {
    return this.#job.name;
  }

  get addresses(): ReadonlyMap<string, string> {
    return new Map([...this.#pods.values()].flatMap(({ hello }) => Object.entries(hello?.addresses ?? {})));
  }

  /** Streams of logs that had to be opened again. */
  get reconnects(): number {
    return this.#sum(({ log }) => log.reconnects);
  }

  /** Resolves when all pods send. */
  async begin(): Promise<void> {
    const { parallel, signal } = this.#options;
    const began = Date.now();
    for (;;) {
      signal?.throwIfAborted();
      await this.#find(Date.now() - began);
      const { size } = this.#pods;
      if (size >= parallel) break;
      if (Date.now() - began > longestStart) throw await this.#notStarted(size);
      await delay(look, undefined, { signal: this.#over.signal });
    }
    await this.#allBegun(began);
    void this.#watchPods();
  }

  counts(): LoadCounts {
    return {
      sent: this.#sum(({ progress }) => (progress ? progress.finished - progress.notSent : 0)),
      failed: this.#sum(({ progress }) => progress?.lost ?? 0),
    };
  }

  /** Ends the load, reads every log to its end, and removes everything. */
  stop(): Promise<LoadSeen> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #create(program: string): Promise<void> {
    const {
      parallel,
      image,
      rate,
      routes,
      maxDuration,
      maxRequests,
      timeout,
      pooledShare,
      seed,
      avoidNodes,
    } = this.#options;
    this.#asked = this.#options.clock.now();
    await this.#job.create(
      {
        image: image ?? defaultImage,
        parallel,
        longest: maxDuration + slack,
        grace: timeout + linger + 10_000,
        avoidNodes: avoidNodes ?? [],
      },
      program,
      {
        routes: routes.map(({ name, url }) => ({ name, url: url.href })),
        load: {
          rate: rate / parallel / routes.length,
          pooledShare,
          timeout,
          maxDuration,
          maxRequests: Math.max(1, Math.floor(maxRequests / parallel / routes.length)),
        },
        seed,
        linger,
      },
    );
  }

  /** Looks for pods of the Job; each is followed from the moment it is there. */
  async #find(waited: number): Promise<void> {
    const found = await this.#job.pods(this.#over.signal);
    for (const pod of found) {
      const { name, uid } = pod.metadata;
      const known = this.#pods.get(uid);
      if (known?.hello) continue;
      const problem = known?.failed ? undefined : whyNotBegun(pod, waited);
      if (problem) throw problem;
      if (known) continue;
      this.#pods.set(
        uid,
        new LoadPod({
          kube: this.#options.kube,
          name,
          uid,
          path: this.#job.podPath(name),
          clock: this.#options.clock,
          epoch: this.#epoch,
          routes: this.#options.routes.map((route) => route.name),
          asked: this.#asked,
        }),
      );
    }
  }

  async #notStarted(size: number): Promise<InClusterError> {
    const { kube, namespace, parallel } = this.#options;
    const why = await jobWarnings(kube, namespace, this.name);
    return new InClusterError(
      "LAMEDUCK_IN_CLUSTER_NOT_STARTED",
      `job ${this.name}`,
      `${size} of ${parallel} pods after ${longestStart / 1_000} s${why === "" ? "" : `: ${why}`}`,
    );
  }

  async #allBegun(began: number): Promise<void> {
    const pods = [...this.#pods.values()];
    const all = Promise.all(pods.map((pod) => pod.begun)).then(() => true);
    while (!(await Promise.race([all, delay(look, false, { signal: this.#over.signal })]))) {
      const waited = Date.now() - began;
      for (const { failed } of pods)
        if (failed) throw new InClusterError("LAMEDUCK_IN_CLUSTER_URL", failed.url, failed.problem);
      await this.#find(waited);
      if (waited > longestStart)
        throw new InClusterError(
          "LAMEDUCK_IN_CLUSTER_NOT_STARTED",
          `job ${this.name}`,
          `not all of its pods run after ${longestStart / 1_000} s`,
        );
    }
  }

  /** Load that ends before it was asked to: some of it is told in the end; without any the run is worth nothing. */
  async #watchPods(): Promise<void> {
    const pods = [...this.#pods.values()];
    await Promise.all(pods.map((pod) => pod.log.ended));
    if (this.#stopped || this.#over.signal.aborted) return;
    const failure = pods.find(({ log }) => log.failure)?.log.failure;
    this.#failed.reject(
      failure ??
        new InClusterError(
          "LAMEDUCK_IN_CLUSTER_PODS_LOST",
          `job ${this.name}`,
          `all of its ${pods.length} pods ended before the rollout did`,
        ),
    );
  }

  async #stop(): Promise<LoadSeen> {
    const pods = [...this.#pods.values()];
    try {
      await this.#job.endJob();
      await Promise.all(
        pods.map(async (pod) => {
          pod.deletionSent();
          await this.#job.endPod(pod.name);
        }),
      );
      const limit = delay(this.#options.timeout + linger, undefined, { signal: this.#over.signal });
      await Promise.race([Promise.all(pods.map((pod) => pod.log.ended)), limit.catch(() => undefined)]);
    } finally {
      await this.close();
    }
    return this.#seen(pods);
  }

  #seen(pods: readonly LoadPod[]): LoadSeen {
    const records: RequestRecord[] = [];
    let connections = 0;
    for (const pod of pods) {
      const own = pod.records(connections, records.length);
      for (const record of own) {
        records.push(record);
        connections = Math.max(connections, record.connection ?? 0);
      }
    }
    const missing = this.#sum((pod) => pod.missing);
    return { records, missing, notes: notesOf(pods, this.#options.parallel) };
  }

  async #close(): Promise<void> {
    this.#over.abort();
    const pods = [...this.#pods.values()];
    await Promise.all(pods.map((pod) => pod.log.close()));
    // All are tried, whatever becomes of one.
    const removals = await Promise.allSettled([
      this.#job.endJob(),
      this.#job.removeProgram(),
      ...pods.map((pod) => this.#job.endPod(pod.name, 1)),
    ]);
    const [failure] = removals.filter(({ status }) => status === "rejected");
    if (failure)
      this.#options.say?.(`left in namespace ${this.#options.namespace}: job, configmap ${this.name}`);
  }

  #sum(of: (pod: LoadPod) => number): number {
    return [...this.#pods.values()].reduce((sum, pod) => sum + of(pod), 0);
  }
}
