import type { Workload } from "@lameduck/manifests";
import type { App, Remedy } from "./remedies.ts";
import type { PodEvent, SenderEvent } from "@lameduck/accounting";
import type { LoadOptions, PodCount, Propagation, SenderSpec } from "@lameduck/load";

/** One comparison: the same pods, senders, load and seed under each remedy. */
export interface LabSettings {
  readonly workload: Workload;
  readonly app: App;
  readonly remedies: readonly Remedy[];
  /** The remedies were named one by one: each is run, whatever the program brings. */
  readonly asked?: boolean;
  /** How often every pod is replaced under each remedy. */
  readonly rollouts: number;
  readonly senders: readonly SenderSpec[];
  readonly propagation: Propagation;
  readonly load: LoadOptions;
  readonly seed: number;
  /** Set for every container, over the manifest and the remedy. */
  readonly env?: Readonly<Record<string, string>>;
  /** Load before the first rollout that is not counted, milliseconds: pools fill, code warms up. */
  readonly warmUp: number;
}

/** What goes on, for a person who waits. */
export interface LabProgress {
  readonly remedy: string;
  readonly stage: "starting" | "warming up" | "rolling" | "settling" | "counting";
  /** Of the rollouts, from 1; 0 before the first. */
  readonly rollout: number;
  readonly sent: number;
  readonly failed: number;
  readonly terminating: number;
  readonly byPod: ReadonlyMap<string, PodCount>;
  readonly seen: LabSeen;
}

/** What has been seen of the remedy under way. Times are those of its run. */
export interface LabSeen {
  /** Both grow while the run goes on. */
  readonly podEvents: readonly PodEvent[];
  readonly senderEvents: readonly SenderEvent[];
  /** Absent in the warm-up. */
  readonly countedFrom: number | undefined;
  readonly now: number;
}
