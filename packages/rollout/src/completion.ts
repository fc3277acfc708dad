import { setTimeout as delay } from "node:timers/promises";
import type { Observation } from "./following/observation.ts";
import { controllerProgress, deadlineExceeded, pauseOf } from "./progress.ts";
import { nameOf } from "./target-reference.ts";
import type { Workload } from "@lameduck/kube";
import type { Target } from "./target.ts";

/** Time between two checks of a condition, beside every change. */
export const lookPeriodMs = 250;

/** The controller itself says that the rollout will not finish. */
export class RolloutStuck extends Error {}

type Seen = Pick<Observation, "pods" | "workload"> & Partial<Pick<Observation, "deleted">>;

/** Whether a rollout is over, by what is seen of its pods and of the controller that replaces them. */
export class Completion {
  readonly #target: Target;
  readonly #observation: Seen;
  readonly #exceededBefore: string | undefined;
  #generation = 0;

  constructor(target: Target, observation: Seen) {
    this.#target = target;
    this.#observation = observation;
    this.#exceededBefore = target.owner && deadlineExceeded(target.owner.object)?.lastTransitionTime;
  }

  /** The workload's generation after the action. The controller has to see it. */
  expect(generation: number): void {
    this.#generation = generation;
  }

  /** For --watch: when a rollout of the target, or a termination of its pods, has begun. */
  begun(signal: AbortSignal): Promise<void> {
    const { pods } = this.#observation;
    const isUnderWay = pods.hasLeftovers && this.progress()?.done === false;
    const before = this.#target.owner?.object;
    const isRolled = (now = before): boolean => whatRolls(now) !== whatRolls(before);
    return this.until(
      () =>
        isUnderWay ||
        isRolled(this.#observation.workload) ||
        pods.facts.some(({ deleted, isLeftover }) => deleted !== undefined && !isLeftover),
      signal,
    );
  }

  isComplete(): boolean {
    const { pods, workload } = this.#observation;
    const wanted = this.#wanted();
    if (pods.terminating > 0 || pods.available < wanted) return false;
    if (!workload) return true;
    return pods.live.length <= wanted && (this.progress()?.done ?? true);
  }

  /** Status of the controller; undefined for pods without a controller. */
  progress(): ReturnType<typeof controllerProgress> | undefined {
    const { owner } = this.#target;
    const { workload } = this.#observation;
    return (
      owner && workload && controllerProgress(owner.reference.kind, workload, this.#generation, owner.object)
    );
  }

  /** Why the controller has paused the rollout meanwhile; undefined where it has not. */
  paused(): string | undefined {
    const { workload } = this.#observation;
    return workload && pauseOf(workload)?.words;
  }

  words(): string {
    return `${this.progress()?.words ?? "pods not back yet"}, ${this.#observation.pods.terminating} terminating`;
  }

  /** @throws {RolloutStuck} when the rollout will never be over. */
  async until(condition: () => boolean, signal: AbortSignal): Promise<void> {
    while (!condition()) {
      const { workload, deleted } = this.#observation;
      if (deleted) throw new RolloutStuck(`${nameOf(this.#target.reference)} was deleted meanwhile`);
      const exceeded = workload && deadlineExceeded(workload);
      // A condition from before belongs to an earlier rollout.
      if (exceeded && exceeded.lastTransitionTime !== this.#exceededBefore)
        throw new RolloutStuck(`progress deadline exceeded: ${exceeded.message ?? ""}`);
      await this.#change(signal);
    }
  }

  /** How many pods the workload wants in the end; an autoscaler may change that meanwhile. */
  #wanted(): number {
    const { spec, status } = this.#observation.workload ?? {};
    if (!this.#target.owner) return 0;
    return spec?.replicas ?? status?.desiredNumberScheduled ?? this.#target.replicas;
  }

  /** The next change of a pod or of the workload, or a moment later. */
  async #change(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const changed = new AbortController();
    const end = this.#observation.pods.onChange(() => changed.abort());
    const either = AbortSignal.any([signal, changed.signal]);
    await delay(lookPeriodMs, undefined, { signal: either }).catch(() => undefined);
    end();
    signal.throwIfAborted();
  }
}

/** The fields of a workload whose change replaces pods. An autoscaler changes the number of replicas alone. */
function whatRolls(workload: Workload | undefined): string {
  return JSON.stringify([workload?.spec.template, workload?.spec.restartAt]);
}
