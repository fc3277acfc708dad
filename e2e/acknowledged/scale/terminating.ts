import { quantiles, type Quantiles } from "@lameduck/accounting";
import { askUntilReleased, type Answer } from "./asking.ts";
import { inParallel, type HollowCluster, type HollowPod } from "./objects.ts";

export interface NotReleased extends Answer {
  readonly pod: string;
}

export interface Outcome {
  readonly terminations: number;
  readonly released: number;
  /** From the EndpointSlice's write until the pod has heard that it is released, milliseconds. */
  readonly releasedAfterMs: Quantiles;
  /** The last answers of those that the coordinator did not release, at most 20 of them. */
  readonly notReleased: readonly NotReleased[];
  /** What went wrong beside the coordinator, and how often. */
  readonly errors: Readonly<Record<string, number>>;
}

/** Milliseconds after which a hold ends without a release; the pods have 60 s of grace. */
const cap = 50_000;
const mostNamed = 20;

/** Ends pods as a rollout, or the end of many nodes, does; and counts what the coordinator says of them. */
export class Terminating {
  readonly #cluster: HollowCluster;
  readonly #coordinator: string;
  readonly #released: number[] = [];
  readonly #notReleased: NotReleased[] = [];
  readonly #errors = new Map<string, number>();
  readonly #underWay = new Set<Promise<void>>();
  #stopped: readonly HollowPod[] = [];
  #begun = 0;

  constructor(cluster: HollowCluster, coordinator: string) {
    this.#cluster = cluster;
    this.#coordinator = coordinator;
  }

  get underWay(): number {
    return this.#underWay.size;
  }

  /** One step of a rollout. It goes on in the background. */
  endOne(): void {
    const [pod] = this.#taken(1);
    if (pod) this.#follow(this.#replace(pod));
  }

  /** Deletes so many as fast as the API server takes it, and replaces none. @returns after how many milliseconds the last was withdrawn. */
  async endAtOnce(count: number): Promise<number> {
    const pods = this.#taken(count);
    const begun = performance.now();
    await inParallel(pods.length, (index) => this.#cluster.delete(pods[index]!));
    await Promise.all(
      pods.map(async (pod) => {
        await this.#cluster.withdraw(pod);
        this.#follow(this.#hold(pod));
      }),
    );
    this.#stopped = pods;
    return performance.now() - begun;
  }

  /** When all have ended. */
  async ended(): Promise<Outcome> {
    await Promise.all(this.#underWay);
    // Hundreds of deletions at once would delay the answers that are measured.
    await inParallel(this.#stopped.length, (index) => this.#cluster.end(this.#stopped[index]!));
    return {
      terminations: this.#begun,
      released: this.#released.length,
      releasedAfterMs: quantiles(this.#released),
      notReleased: this.#notReleased.slice(0, mostNamed),
      errors: Object.fromEntries(this.#errors),
    };
  }

  #taken(count: number): HollowPod[] {
    const { pods } = this.#cluster;
    const taken = Array.from({ length: Math.min(count, pods.length) }, () =>
      pods.splice(Math.floor(Math.random() * pods.length), 1),
    ).flat();
    this.#begun += taken.length;
    return taken;
  }

  #follow(termination: Promise<void>): void {
    const one = termination.catch((error: unknown) => {
      const text = String(error).slice(0, 80);
      this.#errors.set(text, (this.#errors.get(text) ?? 0) + 1);
    });
    this.#underWay.add(one);
    void one.finally(() => this.#underWay.delete(one));
  }

  /** A new pod is made, and an old one ends when it is released. */
  async #replace(pod: HollowPod): Promise<void> {
    this.#cluster.pods.push(await this.#cluster.makePod(pod.service));
    await this.#cluster.delete(pod);
    await this.#cluster.withdraw(pod);
    try {
      await this.#hold(pod);
    } finally {
      await this.#cluster.end(pod);
    }
  }

  async #hold(pod: HollowPod): Promise<void> {
    const withdrawnAt = performance.now();
    const signal = AbortSignal.timeout(cap);
    const ask = { coordinator: this.#coordinator, namespace: "hollow", pod, signal };
    const answer = await askUntilReleased(ask);
    if (answer.state === "released") this.#released.push(performance.now() - withdrawnAt);
    else this.#notReleased.push({ pod: pod.name, ...answer });
  }
}
