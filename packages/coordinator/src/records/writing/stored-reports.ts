import { orUndefined, type KubernetesClient } from "@lameduck/kube";
import { apiPath } from "@lameduck/protocol";
import { reportsOf } from "../report/drain-report.ts";
import { superfluous, type Kept, type RetentionLimits } from "./retention.ts";

/** The names of the reports in the cluster. Removes those beyond the limits. */
export class StoredReports {
  readonly #client: KubernetesClient;
  readonly #limits: RetentionLimits;
  readonly #now: () => number;
  #kept = new Map<string, Kept>();
  #readAt = -Infinity;

  constructor(client: KubernetesClient, limits: RetentionLimits, now: () => number) {
    this.#client = client;
    this.#limits = limits;
    this.#now = now;
  }

  get size(): number {
    return this.#kept.size;
  }

  add(one: Kept): void {
    this.#kept.set(keyOf(one), one);
  }

  /** Lists the reports if the last list is old: people delete reports, and another replica may have written some. */
  async read(every: number, signal: AbortSignal): Promise<void> {
    if (this.#now() - this.#readAt < every) return;
    const there = await this.#client.listMetadata(`${apiPath}/drainreports`, signal);
    this.#kept = new Map(
      there.map(({ metadata: { namespace = "", name, creationTimestamp = "" } }) => {
        const one = { namespace, name, createdAt: Date.parse(creationTimestamp) || this.#now() };
        return [keyOf(one), one];
      }),
    );
    this.#readAt = this.#now();
  }

  /** Forces a new list, because another replica has written meanwhile. */
  forget(): void {
    this.#readAt = -Infinity;
  }

  superfluous(): Kept[] {
    return superfluous(this.#kept.values(), this.#limits, this.#now());
  }

  async remove(one: Kept, signal: AbortSignal): Promise<void> {
    await orUndefined(this.#client.delete(`${reportsOf(one.namespace)}/${one.name}`, {}, signal), 404);
    this.#kept.delete(keyOf(one));
  }
}

const keyOf = ({ namespace, name }: Kept): string => `${namespace}/${name}`;
