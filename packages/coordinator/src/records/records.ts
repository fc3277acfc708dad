import { setTimeout as delay } from "node:timers/promises";
import type { KubernetesClient } from "@lameduck/kube";
import type { Registry } from "@prometheus-io/client";
import type { Termination, TerminationListener } from "../termination.ts";
import { RecordMetrics } from "./metrics.ts";
import { eventOf } from "./event-of.ts";
import { WorkloadEvents } from "@lameduck/cluster";
import type { Ended } from "./writing/queue.ts";
import { Recorder } from "./writing/recorder.ts";
import type { RetentionLimits } from "./writing/retention.ts";

export interface RecordsOptions {
  /** Whether this replica is the one that writes. */
  readonly isLeader: () => boolean;
  /** This replica. */
  readonly name: string;
  readonly registry: Registry;
  readonly retention?: RetentionLimits;
  /** `part`: "reports" or "events". */
  readonly onProblem: (part: string, error: unknown) => void;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** By which terminations have their times; default `now`. */
  readonly clock?: () => number;
  /** Milliseconds between two looks; default a second. */
  readonly every?: number;
}

/** Turns ended terminations into reports, Events and metrics. */
export class Records implements TerminationListener {
  readonly #options: RecordsOptions;
  readonly #recorder: Recorder;
  readonly #metrics: RecordMetrics;
  readonly #events: WorkloadEvents;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(client: KubernetesClient, options: RecordsOptions) {
    const { now = Date.now, clock = now, isLeader, retention, registry, onProblem, every, name } = options;
    this.#options = options;
    this.#events = new WorkloadEvents(client, name, now);
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
    this.#running = this.#writeEvents();
  }

  /** Writes what has ended. Called while this replica still holds the Lease. */
  async stop(): Promise<void> {
    await this.#recorder.stop();
    this.#stopping.abort();
    await this.#running;
  }

  #publish({ report, workload, isMeasured }: Ended): void {
    this.#metrics.recorded(report, isMeasured);
    const { namespace } = report.metadata;
    const { name, uid } = report.pod;
    for (const one of eventOf(report)) {
      this.#metrics.event(one.reason);
      // Of a pod without a controller its own.
      this.#events.add(namespace, workload ?? { kind: "Pod", name, uid }, one);
    }
  }

  async #writeEvents(): Promise<void> {
    const { signal } = this.#stopping;
    const { every = 1_000, onProblem, isLeader } = this.#options;
    while (!signal.aborted) {
      if (isLeader())
        await this.#events.pass(signal).catch((error: unknown) => {
          if (!signal.aborted) onProblem("events", error);
        });
      await delay(every, undefined, { signal }).catch(() => undefined);
    }
  }
}
