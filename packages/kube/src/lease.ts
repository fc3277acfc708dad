import { setTimeout as delay } from "node:timers/promises";
import type { KubernetesClient } from "./client.ts";
import { hasStatus, orUndefined } from "./retry.ts";

interface LeaseOptions {
  readonly namespace: string;
  readonly name: string;
  /** The candidate: the name of a pod. */
  readonly holder: string;
  /** Another candidate may take the Lease after this time of silence. Default: 15. */
  readonly seconds?: number;
  /** The time between two looks at the Lease. Default: a third of `seconds`. */
  readonly everyMs?: number;
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number;
  /** Called with each error; the candidate keeps trying. */
  readonly onProblem?: (error: unknown) => void;
}

interface LeaseObject {
  readonly metadata: { readonly name: string; readonly resourceVersion?: string };
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly leaseTransitions?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
  };
}

/**
 * Chooses one of several replicas as the leader. As in client-go, no clocks are compared: a holder has fallen silent when
 * its entry has not changed for the lease's time by our own clock. Two may hold it for a moment: the leader's work must allow that.
 */
export class Lease {
  readonly #client: KubernetesClient;
  readonly #options: LeaseOptions;
  readonly #seconds: number;
  readonly #now: () => number;
  readonly #path: string;
  #seen: { readonly version: string | undefined; readonly at: number } | undefined;
  #heldUntil = -Infinity;

  constructor(client: KubernetesClient, options: LeaseOptions) {
    this.#client = client;
    this.#options = options;
    this.#seconds = options.seconds ?? 15;
    this.#now = options.now ?? ((): number => performance.now());
    this.#path = `/apis/coordination.k8s.io/v1/namespaces/${options.namespace}/leases`;
  }

  /** Whether this candidate holds the Lease for now. A holder that cannot renew it stops in time. */
  get isHeld(): boolean {
    return this.#now() < this.#heldUntil;
  }

  /** Asks for the Lease and renews it until the signal ends that, and gives it back then. */
  async keep(signal: AbortSignal): Promise<void> {
    const pause = this.#options.everyMs ?? (this.#seconds * 1_000) / 3;
    while (!signal.aborted) {
      try {
        await this.ask();
      } catch (error) {
        this.#options.onProblem?.(error);
      }
      // Jitter, so that replicas do not ask at one moment.
      await delay(pause * (0.9 + Math.random() / 5), undefined, { signal }).catch(() => undefined);
    }
    await this.release().catch((error: unknown) => this.#options.onProblem?.(error));
  }

  /** Takes the Lease where it is free, and renews it where this candidate holds it. @returns whether this candidate holds it. */
  async ask(): Promise<boolean> {
    const asked = this.#now();
    const found = await this.#read();
    if (found === undefined) return this.#write(asked, found);
    const { metadata, spec = {} } = found;
    const { resourceVersion: version } = metadata;
    const seen = this.#seen?.version === version && this.#seen ? this.#seen : { version, at: asked };
    this.#seen = seen;
    const isOurs = spec.holderIdentity === this.#options.holder;
    const silence = asked - seen.at;
    const isFree = !spec.holderIdentity || silence > (spec.leaseDurationSeconds ?? this.#seconds) * 1_000;
    if (!isOurs && !isFree) {
      this.#heldUntil = -Infinity;
      return false;
    }
    return this.#write(asked, found);
  }

  /** Gives the Lease back, so that another candidate need not wait for it. */
  async release(): Promise<void> {
    if (!this.isHeld) return;
    this.#heldUntil = -Infinity;
    const found = await this.#read();
    if (found?.spec?.holderIdentity !== this.#options.holder) return;
    await this.#client.put(`${this.#path}/${this.#options.name}`, {
      ...found,
      spec: { ...found.spec, holderIdentity: "", renewTime: stamp() },
    });
  }

  /** Takes or renews the Lease. Another candidate may have been faster (409). */
  async #write(asked: number, found: LeaseObject | undefined): Promise<boolean> {
    const { name, holder } = this.#options;
    const { holderIdentity, leaseTransitions = 0 } = found?.spec ?? {};
    const now = stamp();
    const taken = { acquireTime: now, leaseTransitions: found ? leaseTransitions + 1 : 0 };
    const lease = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: found?.metadata ?? { name },
      spec: {
        ...found?.spec,
        holderIdentity: holder,
        leaseDurationSeconds: this.#seconds,
        renewTime: now,
        ...(holderIdentity === holder ? {} : taken),
      },
    };
    try {
      await (found ? this.#client.put(`${this.#path}/${name}`, lease) : this.#client.post(this.#path, lease));
      this.#heldUntil = asked + this.#seconds * 1_000;
      return true;
    } catch (error) {
      this.#heldUntil = -Infinity;
      if (hasStatus(error, 409)) return false;
      throw error;
    }
  }

  #read(): Promise<LeaseObject | undefined> {
    return orUndefined(this.#client.get<LeaseObject>(`${this.#path}/${this.#options.name}`), 404);
  }
}

/** metav1.MicroTime. For people only. */
function stamp(): string {
  return new Date().toISOString().replace("Z", "000Z");
}
