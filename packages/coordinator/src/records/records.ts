import { setTimeout as delay } from "node:timers/promises";
import { type KubernetesClient, Lease } from "@lameduck/kube";
import { WorkloadEvents, type WorkloadName } from "@lameduck/cluster";
import { operatorNames } from "@lameduck/protocol";
import type { Registry } from "@prometheus-io/client";
import type { TerminationListener, TerminationView } from "../termination-view.ts";
import { recordMetrics, type RecordMetrics } from "./metrics.ts";
import { eventOf, eventOfStuck, type Occurrence } from "./event-of.ts";
import { type Ended, Recorder } from "./writing/recorder.ts";
import type { RetentionLimits } from "./writing/retention.ts";

interface RecordsOptions {
  /** The operator's own. */
  readonly namespace: string;
  /** This replica. */
  readonly name: string;
  readonly registry: Registry;
  readonly retention?: RetentionLimits;
  /** `part`: "lease", "reports" or "events". */
  readonly onProblem: (part: string, error: unknown) => void;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** By which terminations have their times; default `now`. */
  readonly clock?: () => number;
  /** Between two looks; default a second. */
  readonly everyMs?: number;
}

type PodName = Pick<TerminationView, "namespace" | "name" | "uid">;

/** Turns ended terminations into reports, Events and metrics. Only the replica that holds the Lease writes. */
export class Records {
  readonly #options: RecordsOptions;
  readonly #lease: Lease;
  readonly #recorder: Recorder;
  readonly #metrics: RecordMetrics;
  readonly #events: WorkloadEvents;
  readonly #stopping = new AbortController();
  readonly #stoppingLease = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #leading: Promise<void> = Promise.resolve();

  constructor(client: KubernetesClient, options: RecordsOptions) {
    const { namespace, name, registry, retention, onProblem, everyMs } = options;
    const { now = Date.now, clock = now } = options;
    this.#options = options;
    this.#lease = new Lease(client, {
      namespace,
      name: operatorNames.coordinator.lease,
      holder: name,
      onProblem: (error) => onProblem("lease", error),
    });
    this.#events = new WorkloadEvents(client, name, now);
    this.#metrics = recordMetrics(registry, () => this.#recorder.counts);
    this.#recorder = new Recorder(client, {
      isLeader: () => this.isLeader,
      now,
      clock,
      ...(retention === undefined ? {} : { retention }),
      ...(everyMs === undefined ? {} : { everyMs }),
      onRecord: (ended) => this.#publish(ended),
      onOutcome: (outcome) => this.#metrics.records.inc({ outcome }),
      onRemove: () => this.#metrics.removed.inc(),
      onProblem: (error) => onProblem("reports", error),
    });
  }

  readonly hear: TerminationListener = (termination, what) => {
    this.#recorder.hear(termination, what);
    if (what !== "stuck" || !this.isLeader) return;
    this.#metrics.neverLetGo(termination.stuck ?? []);
    this.#tell(termination, termination.workload, eventOfStuck(termination));
  };

  get isLeader(): boolean {
    return this.#lease.isHeld;
  }

  start(): void {
    this.#leading = this.#lease.keep(this.#stoppingLease.signal);
    this.#recorder.start();
    this.#running = this.#writeEvents();
  }

  /** Writes what has ended, and then releases the Lease. */
  async stop(): Promise<void> {
    await this.#recorder.stop();
    this.#stopping.abort();
    await this.#running;
    this.#stoppingLease.abort();
    await this.#leading;
  }

  #publish({ report, workload, isMeasured }: Ended): void {
    this.#metrics.recorded(report, isMeasured);
    const { namespace } = report.metadata;
    for (const one of eventOf(report)) this.#tell({ ...report.pod, namespace }, workload, one);
  }

  #tell({ namespace, name, uid }: PodName, workload: WorkloadName | undefined, event: Occurrence): void {
    this.#metrics.events.inc({ reason: event.reason });
    // Of a pod without a controller its own.
    this.#events.add(namespace, workload ?? { kind: "Pod", name, uid }, event);
  }

  async #writeEvents(): Promise<void> {
    const { signal } = this.#stopping;
    const { everyMs = 1_000, onProblem } = this.#options;
    while (!signal.aborted) {
      if (this.isLeader)
        await this.#events.pass(signal).catch((error: unknown) => {
          if (!signal.aborted) onProblem("events", error);
        });
      await delay(everyMs, undefined, { signal }).catch(() => undefined);
    }
  }
}
