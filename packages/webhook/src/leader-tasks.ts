import { Lease, type KubernetesClient } from "@lameduck/kube";
import { CarrierCopier, type CarrierAction } from "./carrier/copier.ts";
import { NeededArchitectures, type CarrierSource } from "./carrier/files.ts";
import type { ClusterView } from "./cluster-view.ts";
import { type PolicyObject, WorkloadEvents } from "@lameduck/cluster";
import { losesRequests, type LosesRequests } from "./workload-audit/condition.ts";
import { Flagger } from "./workload-audit/flagger.ts";
import { operatorNames } from "@lameduck/protocol";
import { policyName } from "@lameduck/inject";
import { Pause } from "./pause.ts";
import { updatePolicyStatus } from "./policy-status.ts";

export interface LeaderTasksOptions {
  readonly client: KubernetesClient;
  readonly view: ClusterView;
  readonly namespace: string;
  /** This replica. */
  readonly name: string;
  readonly files: CarrierSource | undefined;
  readonly onWrite: (action: CarrierAction, namespace: string) => void;
  readonly onProblem: (part: string, error: unknown) => void;
  /** How often workloads are audited, in milliseconds; never where none is given. */
  readonly flagsEvery?: number | undefined;
  /** Milliseconds between two audited namespaces. */
  readonly flagsPause?: number;
  /** Minor version of the cluster. */
  readonly kubernetes?: () => number | undefined;
}

/** What one replica does for all: copying carriers, auditing workloads, and telling DrainPolicies whether they count. */
export class LeaderTasks {
  readonly #options: LeaderTasksOptions;
  readonly #lease: Lease;
  readonly #copier: CarrierCopier | undefined;
  readonly #flagger: Flagger | undefined;
  readonly #events: WorkloadEvents;
  readonly #needed = new NeededArchitectures();
  readonly #stopping = new AbortController();
  #running: readonly Promise<unknown>[] = [];
  readonly #pause = new Pause();

  constructor(options: LeaderTasksOptions) {
    this.#options = options;
    const { client, namespace, name, files, view, onWrite, onProblem } = options;
    this.#lease = new Lease(client, {
      namespace,
      name: operatorNames.lease,
      holder: name,
      onProblem: (error) => onProblem("lease", error),
    });
    const { flagsEvery, kubernetes = () => undefined } = options;
    if (flagsEvery !== undefined)
      this.#flagger = new Flagger({
        client,
        every: flagsEvery,
        ...(options.flagsPause === undefined ? {} : { pause: options.flagsPause }),
        name,
        namespaces: () => view.enabled(),
        kubernetes,
        leads: () => this.leads,
        onNews: () => this.#pause.end(),
        onProblem: (error) => onProblem("flags", error),
      });
    this.#events = new WorkloadEvents(client, name, Date.now, operatorNames.workload);
    if (files)
      this.#copier = new CarrierCopier(client, {
        files: () => files.of(this.#needed.of(view.architectures, performance.now())),
        onNews: ({ namespace: of, uid, ...event }) => {
          this.#events.add(
            of,
            { kind: "ConfigMap", name: operatorNames.carrierConfigMap, uid: uid ?? "" },
            event,
          );
          this.#pause.end();
        },
        enabled: () => view.enabled(),
        isLeader: () => this.leads,
        onWrite,
        onProblem: (error) => onProblem("carrier", error),
      });
  }

  get leads(): boolean {
    return this.#lease.isHeld;
  }

  start(): void {
    this.#copier?.start();
    const { signal } = this.#stopping;
    this.#running = [
      this.#lease.keep(signal),
      this.#updatePolicies(),
      this.#flagger?.run(signal) ?? Promise.resolve(),
    ];
  }

  /** Workloads that will lose requests, as far as this replica leads. */
  get flagged(): number {
    return this.#flagger?.count ?? 0;
  }

  /** The cluster has changed. */
  reconcileSoon(): void {
    this.#copier?.reconcileSoon();
    this.#pause.end();
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
      if (this.leads) await updatePolicyStatus(client, view.policies(), options);
      if (this.leads)
        await this.#events.pass(signal).catch((error: unknown) => {
          if (!signal.aborted) onProblem("events", error);
        });
      await this.#pause.begin(this.leads ? 30_000 : 1_000, signal);
    }
  }

  /** Of the cluster's policy: the namespaces that have none of their own, too. */
  #losing({ metadata: { namespace = "", name } }: PolicyObject): LosesRequests | "kept" | undefined {
    const { view } = this.#options;
    if (!this.#flagger || name !== policyName) return undefined;
    const enabled = view.enabled();
    if (!enabled) return "kept";
    const isOfCluster = namespace === this.#options.namespace;
    const applies = [...enabled].filter((one) => one === namespace || (isOfCluster && !view.policyOf(one)));
    const { known, failing } = this.#flagger;
    return applies.length === 0 ? undefined : (losesRequests(known, failing, applies) ?? "kept");
  }
}
