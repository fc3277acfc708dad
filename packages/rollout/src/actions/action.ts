import type { KubernetesClient, Rule } from "@lameduck/kube";
import type { Target } from "../target.ts";
import { nameOf, type TargetReference } from "../target-reference.ts";

export interface ActionPod {
  readonly name: string;
  readonly uid: string;
  readonly node: string | undefined;
}

/** What an action may use while it runs. */
export interface ActionStage {
  readonly client: KubernetesClient;
  readonly target: Target;
  /** The target's pods that are neither terminating nor ended: ready ones first, the oldest of them at the front. */
  readonly pods: () => readonly ActionPod[];
  /** Resolves when these pods have gone and as many as are wanted are available again. */
  readonly replaced: (pods: readonly ActionPod[]) => Promise<void>;
  /** The rollout is over only when the workload's controller has seen this generation. */
  readonly expectGeneration: (generation: number) => void;
  /** The API server's clock, as exactly as it is known (as Date.now()). */
  readonly serverTime: () => number;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

export interface Undo {
  /** What was done: "uncordoned node-1". */
  readonly done: string;
  /** The command that undoes the change by hand. */
  readonly command: string;
  /** @returns false where there was nothing to undo. */
  readonly run: (client: KubernetesClient, signal: AbortSignal) => Promise<boolean>;
}

/** One way to make pods end. */
export interface Action {
  readonly name: "restart" | "scale" | "delete" | "evict" | "drain" | "watch";
  /** What the action does, for the plan and the confirmation: "restart deployment/web". */
  readonly plan: string;
  /** What the action did, for the results: "deployment/web was restarted". True once `run` has ended, however it ended. */
  readonly summary: string;
  /** Why the target cannot be rolled so; undefined if it can. */
  readonly obstacle: (target: Target) => string | undefined;
  /** The rights that the action needs beyond reading. */
  readonly rules: readonly Rule[];
  /** Resolves when the cluster has been asked for everything. The rollout itself may go on. */
  readonly run: (stage: ActionStage) => Promise<void>;
  /** Undoes the change in the end, also after an interrupt. Undefined while there is nothing to undo. */
  readonly undo?: () => Undo | undefined;
  /** What goes on in the cluster when the run is given up in the middle; undefined when nothing does. */
  readonly goesOn: (target: Target) => string | undefined;
}

/** An action that does nothing: another tool rolls the target. The target is only watched, under load if there is one. */
export function watch(reference: TargetReference): Action {
  const name = nameOf(reference);
  return {
    name: "watch",
    plan: `watch ${name}; change nothing`,
    summary: `${name} was watched`,
    obstacle: () => undefined,
    rules: [],
    run: () => Promise.resolve(),
    goesOn: () => undefined,
  };
}
