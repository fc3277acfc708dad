import { Lease, type KubernetesClient } from "@lameduck/kube";
import { InitVolumeCopier, type InitVolumeAction } from "./init-volume/copier.ts";
import { NeededArchitectures, type InitVolumeSource } from "./init-volume/files.ts";
import type { ClusterView } from "./cluster-view.ts";
import { type PolicyObject, WorkloadEvents } from "@lameduck/cluster";
import { losesRequests, type LosesRequests } from "./workload-audit/condition.ts";
import { WorkloadAudit } from "./workload-audit/workload-audit.ts";
import { operatorNames } from "@lameduck/protocol";
import { policyName } from "@lameduck/inject";
import { WakeableDelay } from "./wakeable-delay.ts";
import { updatePolicyStatus } from "./policy-status.ts";

interface LeaderTasksOptions {
  readonly client: KubernetesClient;
  readonly view: ClusterView;
  readonly namespace: string;
  /** This replica. */
  readonly name: string;
  readonly files: InitVolumeSource | undefined;
  readonly onWrite: (action: InitVolumeAction, namespace: string) => void;
  readonly onProblem: (part: string, error: unknown) => void;
  /** How often workloads are audited; never where none is given. */
  readonly auditEveryMs?: number | undefined;
  /** Between two audited namespaces. */
  readonly auditPauseMs?: number;
  /** Minor version of the cluster. */
  readonly kubernetes?: () => number | undefined;
}

/** What one replica does for all: copying init volumes, auditing workloads, and telling DrainPolicies whether they count. */
export class LeaderTasks {
  readonly #options: LeaderTasksOptions;
  readonly #lease: Lease;
  readonly #copier: InitVolumeCopier | undefined;
  readonly #audit: WorkloadAudit | undefined;
  readonly #events: WorkloadEvents;
  readonly #needed = new NeededArchitectures();
  readonly #stopping = new AbortController();
  #running: readonly Promise<unknown>[] = [];
  readonly #delay = new WakeableDelay();

  constructor(options: LeaderTasksOptions) {
    this.#options = options;
    const { client, namespace, name, files, view, onWrite, onProblem } = options;
    this.#lease = new Lease(client, {
      namespace,
      name: operatorNames.lease,
      holder: name,
      onProblem: (error) => onProblem("lease", error),
    });
    const { auditEveryMs, kubernetes = () => undefined } = options;
    if (auditEveryMs !== undefined)
      this.#audit = new WorkloadAudit({
        client,
        every: auditEveryMs,
        ...(options.auditPauseMs === undefined ? {} : { pause: options.auditPauseMs }),
        name,
        namespaces: () => view.enabled(),
        kubernetes,
        isLeader: () => this.isLeader,
        onNews: () => this.#delay.wake(),
        onProblem: (error) => onProblem("workload-audit", error),
      });
    this.#events = new WorkloadEvents(client, name, Date.now, operatorNames.workload);
    if (files)
      this.#copier = new InitVolumeCopier(client, {
        files: () => files.of(this.#needed.of(view.architectures, performance.now())),
        onNews: ({ namespace: of, uid, ...event }) => {
          this.#events.add(
            of,
            { kind: "ConfigMap", name: operatorNames.initConfigMap, uid: uid ?? "" },
            event,
          );
          this.#delay.wake();
        },
        enabled: () => view.enabled(),
        isLeader: () => this.isLeader,
        onWrite,
        onProblem: (error) => onProblem("init-volume", error),
      });
  }

  get isLeader(): boolean {
    return this.#lease.isHeld;
  }

  start(): void {
    this.#copier?.start();
    const { signal } = this.#stopping;
    this.#running = [
      this.#lease.keep(signal),
      this.#updatePolicies(),
      this.#audit?.run(signal) ?? Promise.resolve(),
    ];
  }

  /** Workloads that will lose requests, as far as this replica leads. */
  get losingWorkloads(): number {
    return this.#audit?.count ?? 0;
  }

  /** The cluster has changed. */
  reconcileSoon(): void {
    this.#copier?.reconcileSoon();
    this.#delay.wake();
  }

  /** Gives the lease back last: another must not begin before this one has ended. */
  async stop(): Promise<void> {
    await this.#copier?.stop();
    this.#stopping.abort();
    await Promise.all(this.#running);
  }

  async #updatePolicies(): Promise<void> {
    const { signal } = this.#stopping;
    const { client, view, onProblem } = this.#options;
    const options = {
      now: Date.now,
      ownNamespace: this.#options.namespace,
      losing: (policy: PolicyObject) => this.#losing(policy),
      onProblem: (error: unknown) => onProblem("policies", error),
    };
    while (!signal.aborted) {
      if (this.isLeader) await updatePolicyStatus(client, view.policies(), options);
      if (this.isLeader)
        await this.#events.pass(signal).catch((error: unknown) => {
          if (!signal.aborted) onProblem("events", error);
        });
      await this.#delay.wait(this.isLeader ? 30_000 : 1_000, signal);
    }
  }

  /** Of the cluster's policy: the namespaces that have none of their own, too. */
  #losing({ metadata: { namespace = "", name } }: PolicyObject): LosesRequests | "kept" | undefined {
    const { view } = this.#options;
    if (!this.#audit || name !== policyName) return undefined;
    const enabled = view.enabled();
    if (!enabled) return "kept";
    const isOfCluster = namespace === this.#options.namespace;
    const applies = [...enabled].filter((one) => one === namespace || (isOfCluster && !view.policyOf(one)));
    const { known, failing } = this.#audit;
    return applies.length === 0 ? undefined : (losesRequests(known, failing, applies) ?? "kept");
  }
}
