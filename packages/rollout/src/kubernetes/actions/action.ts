import type { KubernetesClient } from "../client/client.ts";
import type { Rule } from "../permissions.ts";
import type { Target } from "../target/target.ts";

export interface StagePod {
  readonly name: string;
  readonly uid: string;
  readonly node: string | undefined;
}

/** What an action may use while it runs. */
export interface ActionStage {
  readonly client: KubernetesClient;
  readonly target: Target;
  /** The target's pods that are neither terminating nor ended, oldest first. */
  readonly pods: () => readonly StagePod[];
  /** Resolves when these pods have gone and as many as are wanted are available again. */
  readonly replaced: (pods: readonly StagePod[]) => Promise<void>;
  /** The rollout is over only when the workload's controller has seen this generation. */
  readonly expectGeneration: (generation: number) => void;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** One way to make pods end. */
export interface Action {
  readonly name: "restart" | "scale" | "delete" | "evict" | "drain" | "watch";
  /** In the imperative, for the plan and the confirmation: "restart deployment/web". */
  readonly plan: string;
  /** In the past, for the results: "deployment/web was restarted". */
  readonly deed: string;
  /** Why the target cannot be rolled so; undefined if it can. */
  readonly obstacle: (target: Target) => string | undefined;
  /** What it needs beyond reading. */
  readonly rules: readonly Rule[];
  /** Ends when everything was asked of the cluster; the rollout itself may go on. */
  readonly run: (stage: ActionStage) => Promise<void>;
  /** Takes back what can be taken back, also after an interrupt; tells what was done. */
  readonly undo?: (client: KubernetesClient) => Promise<string | undefined>;
  /** What goes on in the cluster when the run is given up in the middle; undefined when nothing does. */
  readonly goesOn: (target: Target) => string | undefined;
}
