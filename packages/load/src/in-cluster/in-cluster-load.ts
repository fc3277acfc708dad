/**
 * The load as a Job in the cluster (`--in-cluster N`), so that ClusterIPs and pod networks can be hit and the load can
 * outgrow one machine.
 *
 *     const load = await InClusterLoad.start({ kube: client, clock, namespace, routes, parallel: 2, rate: 600, ... });
 *     await load.begin();                              // resolves when all pods send
 *     const { records, missing, notes } = await load.stop();
 *
 * It is a LoadSource like RouteLoad, but its routes are not opened here: the pods look names up and ask once themselves, and a URL that
 * does not answer there is LAMEDUCK_IN_CLUSTER_URL. `inClusterRules` is what the preflight has to ask for.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { LoadCounts, LoadSeen, LoadSource } from "../routes/load-source.ts";
import { messageOf } from "@lameduck/drain/common";
import { count } from "@lameduck/accounting/words";
import { judgeRoutes } from "../routes/plan.ts";
import type { Judgement } from "../worked.ts";
import { InClusterError } from "./errors.ts";
import { LoadJob } from "./job.ts";
import type { LoadPod } from "./load-pod.ts";
import { LoadPods } from "./load-pods.ts";
import { checkInClusterOptions, defaultImage, type InClusterOptions } from "./options.ts";
import { isSecret, planOf } from "./plan.ts";
import { loadProgram } from "./program.ts";
import { isRefusal, lastWarning } from "./start.ts";

const lookPeriodMs = 500;
/** An image may have to be pulled. */
const longestStartMs = 180_000;
/** Time to read the logs when the load has ended, an API server that is away included. */
const longestReadingMs = 90_000;
/** How long a deleted pod is kept so that its log can be read. */
const lingerMs = 5_000;
const watchPeriodMs = 2_000;
/** What the pods need beyond the load itself: to start, and to stop. */
const slackMs = 300_000;

/** The load as a Job in the cluster: every pod runs the same generator as here, and its log brings its requests back. */
export class InClusterLoad implements LoadSource {
  readonly failed: Promise<never>;
  readonly #options: InClusterOptions;
  readonly #job: LoadJob;
  readonly #pods: LoadPods;
  readonly #over = new AbortController();
  readonly #failed = Promise.withResolvers<never>();
  #stopped: Promise<LoadSeen> | undefined;
  #closed: Promise<void> | undefined;

  private constructor(options: InClusterOptions) {
    this.#options = options;
    this.#job = new LoadJob(options.kube, options.namespace, isSecret(options.routes));
    this.#pods = new LoadPods(options, this.#job);
    this.failed = this.#failed.promise;
    // A rejection that nobody awaits yet must not end the process.
    this.failed.catch(() => undefined);
  }

  /** Makes the Job. @throws {InClusterError}, {KubernetesError}; nothing is left behind then. */
  static async start(options: InClusterOptions): Promise<InClusterLoad> {
    checkInClusterOptions(options);
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

  /** Name of the Job and of its ConfigMap or Secret. */
  get name(): string {
    return this.#job.name;
  }

  get addresses(): ReadonlyMap<string, string> {
    return this.#pods.addresses;
  }

  /** Streams of logs that had to be opened again. */
  get reconnects(): number {
    return this.#pods.sum(({ log }) => log.reconnects);
  }

  /** Resolves when all pods send. */
  async begin(): Promise<void> {
    const { parallel, kube, namespace } = this.#options;
    const began = Date.now();
    for (;;) {
      this.#throwIfInterrupted();
      await this.#pods.find(Date.now() - began, this.#over.signal);
      const { size } = this.#pods;
      if (size >= parallel) break;
      const warning = await lastWarning(kube, namespace, { kind: "Job", name: this.name });
      const waited = Date.now() - began;
      if (waited > longestStartMs || isRefusal(warning)) {
        const why = warning === "" ? "" : `: ${warning}`;
        throw this.#notStarted(
          `${size} of ${count(parallel, "pod")} after ${Math.round(waited / 1_000)} s${why}`,
        );
      }
      await this.#pause(lookPeriodMs);
    }
    await this.#allBegun(began);
    void this.#watchPods();
  }

  counts(): LoadCounts {
    return {
      sent: this.#pods.sum(({ progress }) => (progress ? progress.finished - progress.notSent : 0)),
      failed: this.#pods.sum(({ progress }) => progress?.lost ?? 0),
    };
  }

  soFar(): LoadSeen["records"] {
    return this.#pods.seen(this.#pods.all.filter(({ hello }) => hello !== undefined)).records;
  }

  judge(): Judgement {
    const trials = this.#pods.all.flatMap(({ progress }) => progress?.trials ?? []);
    return judgeRoutes(trials, this.#options.routes);
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
    const { parallel, maxDuration, timeout } = this.#options;
    this.#pods.asked();
    const job = {
      image: this.#options.image ?? defaultImage,
      parallel,
      longest: maxDuration + slackMs,
      grace: timeout + lingerMs + 5_000,
      avoidNodes: this.#options.avoidNodes ?? [],
      like: this.#options.like ?? {},
    };
    await this.#job.create(job, program, planOf(this.#options, lingerMs));
  }

  #notStarted(problem: string): InClusterError {
    return new InClusterError("LAMEDUCK_IN_CLUSTER_NOT_STARTED", `job ${this.name}`, problem);
  }

  async #allBegun(began: number): Promise<void> {
    const pods = this.#pods.all;
    const all = Promise.all(pods.map((pod) => pod.begun)).then(() => true);
    while (!(await Promise.race([all, this.#pause(lookPeriodMs)]))) {
      this.#throwIfInterrupted();
      const failure = this.#pods.failure;
      if (failure) throw failure;
      const waited = Date.now() - began;
      await this.#pods.find(waited, this.#over.signal);
      if (waited <= longestStartMs) continue;
      const standing = await this.#pods.standing(this.#over.signal);
      throw this.#notStarted(`not all of its pods have begun after ${longestStartMs / 1_000} s: ${standing}`);
    }
  }

  /** Load that ends before it was asked to is reported in the results. If all of it has ended, the run fails. */
  async #watchPods(): Promise<void> {
    const pods = this.#pods.all;
    await this.#ended(pods, watchPeriodMs);
    if (this.#stopped || this.#over.signal.aborted) return;
    this.#failed.reject(
      this.#pods.failure ??
        new InClusterError(
          "LAMEDUCK_IN_CLUSTER_PODS_LOST",
          `job ${this.name}`,
          `all of its pods ended before the rollout did`,
        ),
    );
  }

  /** Waits until the logs of the pods have ended, or all is over. */
  async #ended(pods: readonly LoadPod[], period: number, limit = Infinity): Promise<void> {
    const { signal } = this.#over;
    const ended = Promise.all(pods.map((pod) => pod.log.ended)).then(() => true);
    while (!(await Promise.race([ended, this.#pause(period)])) && !signal.aborted && Date.now() < limit)
      await this.#pods.finishEnded(signal).catch(() => undefined);
  }

  /** Only the beginning is given up when it is interrupted; the end is to be read to its end. */
  #throwIfInterrupted(): void {
    this.#options.signal?.throwIfAborted();
    this.#over.signal.throwIfAborted();
  }

  /** @returns false; at once where all is over. */
  async #pause(milliseconds: number): Promise<false> {
    await delay(milliseconds, undefined, { signal: this.#over.signal }).catch(() => undefined);
    return false;
  }

  async #stop(): Promise<LoadSeen> {
    // Pods that have not begun have no log.
    const pods = this.#pods.all.filter(({ hello }) => hello !== undefined);
    const notes: string[] = [];
    try {
      await Promise.all(
        pods.map(async (pod) => {
          pod.endAsked();
          await this.#job.expirePod(pod.name).catch((error: unknown) => {
            notes.push(
              `pod ${pod.name} of the load could not be asked to end: ${messageOf(error)}; what it sent until then is counted`,
            );
          });
        }),
      );
      await this.#ended(pods, lookPeriodMs, Date.now() + this.#options.timeout + longestReadingMs);
    } finally {
      await this.close();
    }
    const seen = this.#pods.seen(pods);
    return { ...seen, notes: [...(seen.notes ?? []), ...notes] };
  }

  async #close(): Promise<void> {
    this.#over.abort();
    await Promise.all(this.#pods.all.map((pod) => pod.log.close()));
    try {
      await this.#job.remove();
    } catch (error) {
      const why = messageOf(error);
      const { namespace, say } = this.#options;
      say?.(`job/${this.name} in namespace ${namespace} was not removed (${why}); it ends by itself`);
    }
  }
}
