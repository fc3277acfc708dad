import { setTimeout as delay } from "node:timers/promises";
import type { KubernetesClient } from "@lameduck/kube";
import type { Registry } from "@prometheus-io/client";
import type { Termination, TerminationListener } from "../coordinator/termination.ts";
import { clusterEntry, ClusterLessons } from "./learning/cluster-lessons.ts";
import { Lessons } from "./learning/lessons.ts";
import { RecordMetrics } from "./metrics.ts";
import { eventOf } from "./events/event-of.ts";
import { WorkloadEvents } from "./events/workload-events.ts";
import type { Ended } from "./writing/queue.ts";
import { Recorder } from "./writing/recorder.ts";
import type { RetentionLimits } from "./writing/retention.ts";

export interface RecordsOptions {
  /** Whether this replica is the one that writes. */
  readonly isLeader: () => boolean;
  /** This replica. */
  readonly name: string;
  /** The operator's own, which keeps what the cluster has taught. */
  readonly namespace: string;
  readonly registry: Registry;
  readonly retention?: RetentionLimits;
  /** `part`: "reports", "events" or "lessons". */
  readonly onProblem: (part: string, error: unknown) => void;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** By which terminations have their times; default `now`. */
  readonly clock?: () => number;
  /** Milliseconds between two looks; default a second. */
  readonly every?: number;
}

/** Milliseconds for the last writes when the process ends. */
const lastWrites = 2_000;

/** Turns ended terminations into reports, Events, metrics and lessons. */
export class Records implements TerminationListener {
  readonly #options: RecordsOptions;
  readonly #recorder: Recorder;
  readonly #metrics: RecordMetrics;
  readonly #events: WorkloadEvents;
  readonly #lessons: Lessons;
  readonly #clusterLessons = new ClusterLessons();
  readonly #now: () => number;
  readonly #stopping = new AbortController();
  #running: readonly Promise<void>[] = [];

  constructor(client: KubernetesClient, options: RecordsOptions) {
    const { now = Date.now, clock = now, isLeader, retention, registry, onProblem, every, name } = options;
    this.#options = options;
    this.#now = now;
    this.#events = new WorkloadEvents(client, name, now);
    this.#lessons = new Lessons(client, now);
    this.#metrics = new RecordMetrics(registry, () => this.#recorder.counts);
    this.#recorder = new Recorder(client, {
      isLeader,
      now,
      clock,
      ...(retention === undefined ? {} : { retention }),
      ...(every === undefined ? {} : { every }),
      onRecord: (ended) => this.#publish(ended),
      onOutcome: (outcome) => this.#metrics.outcome(outcome),
      onRemove: () => this.#metrics.removed(),
      onProblem: (error) => onProblem("reports", error),
    });
  }

  began(termination: Termination): void {
    this.#recorder.began(termination);
  }

  changed(termination: Termination): void {
    this.#recorder.changed(termination);
  }

  ended(termination: Termination): void {
    this.#recorder.ended(termination);
  }

  start(): void {
    this.#recorder.start();
    this.#running = [
      this.#repeat("events", (signal) => this.#events.pass(signal)),
      this.#repeat("lessons", (signal) => this.#learn(signal)),
    ];
  }

  /** Writes what has ended. Called while this replica still holds the Lease. */
  async stop(): Promise<void> {
    await this.#recorder.stop();
    const { isLeader, onProblem } = this.#options;
    if (isLeader())
      await this.#lessons
        .pass(AbortSignal.timeout(lastWrites), true)
        .catch((error: unknown) => onProblem("lessons", error));
    this.#stopping.abort();
    await Promise.all(this.#running);
  }

  #learn(signal: AbortSignal): Promise<void> {
    const lesson = this.#clusterLessons.take(this.#now());
    if (lesson !== undefined) this.#lessons.add(this.#options.namespace, clusterEntry, lesson);
    return this.#lessons.pass(signal);
  }

  #publish({ report, workload, lesson, isMeasured, quicker }: Ended): void {
    this.#metrics.recorded(report, isMeasured);
    if (isMeasured) this.#clusterLessons.add(report, this.#now(), quicker);
    const { namespace } = report.metadata;
    const { name, uid } = report.pod;
    for (const one of eventOf(report)) {
      this.#metrics.event(one.reason);
      // Of a pod without a controller its own.
      this.#events.add(namespace, workload ?? { kind: "Pod", name, uid }, one);
    }
    if (lesson !== undefined && workload !== undefined) this.#lessons.add(namespace, report.workload, lesson);
  }

  async #repeat(part: string, pass: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.#stopping;
    const { every = 1_000, onProblem, isLeader } = this.#options;
    while (!signal.aborted) {
      if (isLeader())
        await pass(signal).catch((error: unknown) => {
          if (!signal.aborted) onProblem(part, error);
        });
      await delay(every, undefined, { signal }).catch(() => undefined);
    }
  }
}
