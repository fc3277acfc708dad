import type { PodEvent } from "@lameduck/accounting";
import type { ContainerTemplate } from "@lameduck/manifests";
import type { StageClock } from "../clock.ts";
import type { Bind, Launch, PodNetwork } from "../network/network.ts";

/** A PodEvent without what the pod itself fills in. */
export type ContainerEvent = PodEvent extends infer Event
  ? Event extends PodEvent
    ? Omit<Event, "at" | "pod">
    : never
  : never;

/** `init` runs to its end before the next starts; `sidecar` is started in the same order and keeps running. */
export type ContainerRole = "init" | "sidecar" | "main";

/** What a container needs of its pod. */
export interface ContainerSurroundings {
  readonly clock: StageClock;
  readonly network: PodNetwork;
  /** Where probes and hooks come from. */
  readonly from: string;
  readonly graceSeconds: number;
  readonly restartPolicy: "Always" | "OnFailure" | "Never";
  /** Aborted when the pod's termination begins: nothing is started any more. */
  readonly ending: AbortSignal;
  /** Aborted when the pod is over. */
  readonly over: AbortSignal;
  readonly launch: (container: ContainerTemplate) => Launch;
  readonly binds: (container: ContainerTemplate) => readonly Bind[];
  /** What keeps a process that is about to be killed, given the signal that it was to obey. */
  readonly lastLook: (pid: number, signal: string) => string | undefined;
  readonly emit: (event: ContainerEvent, at?: number) => void;
  readonly onLine: (line: string) => void;
  /** Its state has changed, or its process has ended. */
  readonly changed: () => void;
}
