import { type KubernetesClient, Lease } from "@lameduck/kube";
import type { Registry } from "@prometheus-io/client";
import { type TerminationListener, steadyNow } from "../termination.ts";
import { operatorNames } from "@lameduck/protocol";
import { Records } from "./records.ts";
import type { RetentionLimits } from "./writing/retention.ts";

export interface KeepingOptions {
  /** The operator's own. */
  readonly namespace: string;
  /** This replica. */
  readonly name: string;
  readonly registry: Registry;
  readonly retention: RetentionLimits;
  readonly onProblem: (part: string, error: unknown) => void;
}

/** Records in the coordinator's process. Only the replica that holds the Lease writes. */
export class RecordKeeping {
  readonly #lease: Lease;
  readonly #records: Records;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(client: KubernetesClient, { namespace, name, registry, retention, onProblem }: KeepingOptions) {
    this.#lease = new Lease(client, {
      namespace,
      name: operatorNames.coordinator.lease,
      holder: name,
      onProblem: (error) => onProblem("lease", error),
    });
    this.#records = new Records(client, {
      isLeader: () => this.#lease.isHeld,
      clock: steadyNow,
      name,
      registry,
      retention,
      onProblem,
    });
  }

  get listener(): TerminationListener {
    return this.#records;
  }

  get leads(): boolean {
    return this.#lease.isHeld;
  }

  start(): void {
    this.#running = this.#lease.keep(this.#stopping.signal);
    this.#records.start();
  }

  /** Writes what has ended, and then releases the Lease. */
  async stop(): Promise<void> {
    await this.#records.stop();
    this.#stopping.abort();
    await this.#running;
  }
}
