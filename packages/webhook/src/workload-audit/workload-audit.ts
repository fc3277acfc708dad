import { setTimeout as delay } from "node:timers/promises";
import { auditedTypes, liveTypes } from "@lameduck/audit";
import { findLosingWorkloads, type AuditedWorkloads } from "@lameduck/audit/losing-workloads";
import type { KubernetesClient } from "@lameduck/kube";
import { operatorNames } from "@lameduck/protocol";
import { WorkloadEvents } from "@lameduck/cluster";

/** Types that not every cluster has, or that repeat what others say. Nobody needs the right to list them. */
const leftOut =
  /^(?:apps\/ReplicaSet|\/ReplicationController|\/PersistentVolumeClaim|argoproj\.io|keda\.sh|kyverno\.io|mutations\.)/;
/** What is listed of each namespace; workloadAuditRights has the rights. */
export const auditedByWebhook: readonly string[] = liveTypes.filter(
  (type) => auditedTypes.has(type) && !leftOut.test(type),
);

/** So that the API server gets some dozen requests a second at most. */
const betweenNamespacesMs = 1_000;

/** Workloads of one namespace that get an Event: those of others must not wait for thousands. */
const mostTold = 50;

export interface WorkloadAuditOptions {
  readonly client: KubernetesClient;
  /** Milliseconds between two looks at a namespace. */
  readonly every: number;
  /** This replica, in Events. */
  readonly name: string;
  /** Namespaces that are injected; undefined where nobody could look. */
  readonly namespaces: () => ReadonlySet<string> | undefined;
  /** Minor version of the cluster. */
  readonly kubernetes: () => number | undefined;
  readonly isLeader: () => boolean;
  /** Something new is known. */
  readonly onNews: () => void;
  readonly onProblem: (error: unknown) => void;
  /** Milliseconds between two namespaces. */
  readonly pause?: number;
}

/** Audits what runs in injected namespaces, one after the other, and writes an Event to each workload that will lose requests. */
export class WorkloadAudit {
  readonly #options: WorkloadAuditOptions;
  readonly #events: WorkloadEvents;
  readonly #known = new Map<string, AuditedWorkloads>();
  readonly #lookedAt = new Map<string, number>();
  /** Looks that have failed since the last one that did not, by namespace. */
  readonly #failures = new Map<string, number>();

  constructor(options: WorkloadAuditOptions) {
    this.#options = options;
    this.#events = new WorkloadEvents(options.client, options.name, Date.now, operatorNames.workload);
  }

  /** By namespace. A replica that has just begun to lead knows none. */
  get known(): ReadonlyMap<string, AuditedWorkloads> {
    return this.#known;
  }

  /** Namespaces that could not be looked at. What is known of one counts for one failure longer: the API server may have been restarted. */
  get failing(): ReadonlySet<string> {
    const failing = [...this.#failures].filter(([name, times]) => times > (this.#known.has(name) ? 1 : 0));
    return new Set(failing.map(([name]) => name));
  }

  /** How many workloads will lose requests. */
  get count(): number {
    return [...this.#known.values()].reduce((sum, one) => sum + losingWorkloads(one).size, 0);
  }

  /** Ends with the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const { isLeader, onNews, pause = betweenNamespacesMs } = this.#options;
    while (!signal.aborted) {
      const due = isLeader() ? this.#due() : this.#forget();
      if (due !== undefined) {
        await this.#look(due, signal);
        onNews();
      }
      if (isLeader()) await this.#writeEvents(signal);
      await delay(pause, undefined, { signal }).catch(() => undefined);
    }
  }

  /** The namespace that was looked at longest ago, if that is long enough: with many the first ones would be due again before the last ones. */
  #due(): string | undefined {
    const wanted = this.#options.namespaces();
    if (!wanted) return undefined;
    for (const namespace of this.#lookedAt.keys())
      if (!wanted.has(namespace)) {
        for (const one of [this.#lookedAt, this.#known, this.#failures]) one.delete(namespace);
      }
    const at = (namespace: string): number => this.#lookedAt.get(namespace) ?? -Infinity;
    let next: string | undefined;
    for (const namespace of wanted) if (next === undefined || at(namespace) < at(next)) next = namespace;
    return next !== undefined && at(next) <= performance.now() - this.#options.every ? next : undefined;
  }

  /** Another replica leads. */
  #forget(): undefined {
    for (const one of [this.#lookedAt, this.#known, this.#failures]) one.clear();
  }

  /** What was known of the namespace stays where it cannot be read now. */
  async #look(namespace: string, signal: AbortSignal): Promise<void> {
    const { client, kubernetes, onProblem } = this.#options;
    this.#lookedAt.set(namespace, performance.now());
    try {
      const found = await findLosingWorkloads(client, namespace, {
        types: auditedByWebhook,
        kubernetes: kubernetes(),
        signal,
      });
      this.#known.set(namespace, found);
      this.#failures.delete(namespace);
      for (const [workload, message] of [...losingWorkloads(found)].slice(0, mostTold))
        this.#events.add(namespace, workload, { reason: "LosesRequests", message });
    } catch (error) {
      if (signal.aborted) return;
      this.#failures.set(namespace, (this.#failures.get(namespace) ?? 0) + 1);
      onProblem(error);
    }
  }

  async #writeEvents(signal: AbortSignal): Promise<void> {
    try {
      await this.#events.pass(signal);
    } catch (error) {
      if (!signal.aborted) this.#options.onProblem(error);
    }
  }
}

interface LosingWorkload {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/** Each workload with all that is wrong with it. */
export function losingWorkloads({ findings }: AuditedWorkloads): ReadonlyMap<LosingWorkload, string> {
  const byUid = Map.groupBy(findings, ({ uid }) => uid);
  return new Map(
    [...byUid.values()].flatMap((own) =>
      own
        .slice(0, 1)
        .map((first) => [first, own.map(({ message, rule }) => `${message} (${rule})`).join("; ")]),
    ),
  );
}
