import type { Strategy } from "@lameduck/manifests";
import type { StageClock } from "../clock.ts";
import type { Pod } from "../kubelet/pod.ts";
import { orderedStep } from "./ordered.ts";
import { recreateStep, rollingStep, type PodView } from "./rolling.ts";
import { resolveBounds } from "./rounding.ts";

interface ControllerOptions {
  readonly strategy: Strategy;
  readonly minReadySeconds: number;
  readonly clock: StageClock;
  readonly createPod: (revision: number, ordinal?: number) => Pod;
  readonly removePod: (pod: Pod, why: string) => void;
}

/** Keeps as many pods of the desired revision as were asked for; looks again at every change, as controllers do. */
export class Controller {
  readonly #options: ControllerOptions;
  readonly #stopped = new AbortController();
  /** Pods not yet gone, with the ordinal they have in a StatefulSet. */
  readonly #pods = new Map<Pod, number | undefined>();
  #replicas: number;
  #revision = 1;
  #looking = false;
  #watchers: (() => void)[] = [];

  constructor(replicas: number, options: ControllerOptions) {
    this.#replicas = replicas;
    this.#options = options;
  }

  get pods(): readonly Pod[] {
    return [...this.#pods.keys()];
  }

  /** `kubectl rollout restart`: every pod is to be replaced. */
  restart(): void {
    this.#revision++;
    this.look();
  }

  scale(replicas: number): void {
    this.#replicas = replicas;
    this.look();
  }

  stop(): void {
    this.#stopped.abort();
    this.#notify();
  }

  /** Every desired pod is there and available, and no other is wanted any more. */
  get settled(): boolean {
    const live = this.#live();
    return (
      live.length === this.#replicas &&
      live.every((pod) => this.#isCurrent(pod) && this.#availableAt(pod) <= this.#options.clock.now())
    );
  }

  /** Resolves at the next change. */
  change(): Promise<void> {
    return new Promise((resolve) => this.#watchers.push(resolve));
  }

  /** Something has changed: acts on it, after the present turn, so that one change is one look. */
  look(): void {
    if (this.#looking || this.#stopped.signal.aborted) return;
    this.#looking = true;
    queueMicrotask(() => {
      this.#looking = false;
      if (this.#stopped.signal.aborted) return;
      for (const pod of this.pods) if (pod.gone) this.#pods.delete(pod);
      this.#step();
      this.#lookWhenAvailable();
      this.#notify();
    });
  }

  #step(): void {
    const { strategy } = this.#options;
    if (strategy.kind === "ordered") return this.#orderedStep(strategy);
    const views = this.#live().map((pod) => this.#view(pod));
    const desired = {
      replicas: this.#replicas,
      revision: this.#revision,
      bounds:
        strategy.kind === "rolling"
          ? resolveBounds(strategy.maxSurge, strategy.maxUnavailable, this.#replicas)
          : { maxSurge: 0, maxUnavailable: this.#replicas },
    };
    const ending = this.#pods.size - views.length;
    const { create, remove } =
      strategy.kind === "rolling" ? rollingStep(views, desired) : recreateStep(views, ending, desired);
    for (let made = 0; made < create; made++) this.#create();
    this.#remove(remove);
    // A creation is a change: what else can be done is seen at the next look.
    if (create > 0 || remove.length > 0) this.look();
  }

  #orderedStep(strategy: Extract<Strategy, { kind: "ordered" }>): void {
    const views = this.#live().map((pod) => ({ ...this.#view(pod), ordinal: this.#pods.get(pod) ?? 0 }));
    const ending = new Set(
      [...this.#pods].filter(([pod]) => pod.terminating).map(([, ordinal]) => ordinal ?? 0),
    );
    const step = orderedStep(views, ending, {
      replicas: this.#replicas,
      revision: this.#revision,
      ...strategy,
    });
    for (const ordinal of step.create) this.#create(ordinal);
    this.#remove(step.remove);
  }

  #create(ordinal?: number): void {
    const pod = this.#options.createPod(this.#revisionFor(ordinal), ordinal);
    this.#pods.set(pod, ordinal);
    pod.start();
  }

  /** An ordinal below the partition comes back as it was. */
  #revisionFor(ordinal: number | undefined): number {
    const { strategy } = this.#options;
    const held = strategy.kind === "ordered" && ordinal !== undefined && ordinal < strategy.partition;
    return held ? 1 : this.#revision;
  }

  #isCurrent(pod: Pod): boolean {
    return pod.revision === this.#revisionFor(this.#pods.get(pod));
  }

  #remove(names: readonly string[]): void {
    for (const pod of this.#live())
      if (names.includes(pod.name))
        this.#options.removePod(pod, this.#isCurrent(pod) ? "scale down" : "rollout");
  }

  #live(): Pod[] {
    return this.pods.filter((pod) => !pod.terminating && !pod.gone);
  }

  #view(pod: Pod): PodView {
    const { name, revision, createdAt, readySince, restarts } = pod;
    return {
      name,
      revision,
      createdAt,
      restarts,
      ready: readySince !== undefined,
      available: this.#availableAt(pod) <= this.#options.clock.now(),
      ...(readySince === undefined ? {} : { readySince }),
    };
  }

  #availableAt(pod: Pod): number {
    return pod.readySince === undefined ? Infinity : pod.readySince + this.#options.minReadySeconds * 1_000;
  }

  /** Readiness comes as an event. That it has lasted for minReadySeconds does not. */
  #lookWhenAvailable(): void {
    const { clock } = this.#options;
    const soonest = Math.min(
      ...this.#live()
        .map((pod) => this.#availableAt(pod))
        .filter((at) => at > clock.now()),
    );
    if (soonest === Infinity) return;
    void clock.sleep(soonest - clock.now() + 1, this.#stopped.signal).then(() => this.look());
  }

  #notify(): void {
    for (const watcher of this.#watchers.splice(0)) watcher();
  }
}
