import { Lease, type KubernetesClient } from "@lameduck/kube";
import { CarrierCopier } from "../carrier/copier.ts";
import type { CarrierFiles } from "../carrier/files.ts";
import type { ClusterView } from "../exposure/cluster-view.ts";
import { operatorNames } from "../names.ts";
import { Pause } from "./pause.ts";
import { updatePolicyStatus } from "./policy-status.ts";

export interface LeaderTasksOptions {
  readonly client: KubernetesClient;
  readonly view: ClusterView;
  readonly namespace: string;
  /** This replica. */
  readonly name: string;
  readonly files: CarrierFiles | undefined;
  readonly onWrite: (action: "applied" | "removed", namespace: string) => void;
  readonly onProblem: (part: string, error: unknown) => void;
}

/** What one replica does for all: copying carriers, and telling DrainPolicies whether they count. */
export class LeaderTasks {
  readonly #options: LeaderTasksOptions;
  readonly #lease: Lease;
  readonly #copier: CarrierCopier | undefined;
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
    if (files)
      this.#copier = new CarrierCopier(client, {
        files,
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
    this.#running = [this.#lease.keep(this.#stopping.signal), this.#updatePolicies()];
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
    const problem = (error: unknown): void => onProblem("policies", error);
    while (!signal.aborted) {
      if (this.leads) await updatePolicyStatus(client, view.policies(), Date.now, problem);
      await this.#pause.begin(this.leads ? 30_000 : 1_000, signal);
    }
  }
}
