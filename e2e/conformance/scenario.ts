import { recorderImage, type Cluster } from "../cluster/index.ts";

/** An experiment with a real kubelet: a pod, the way in which it is ended, and what else happens meanwhile. */
export interface PodScenario {
  readonly name: string;
  /** The question in words; stands in the recording and in the docs. */
  readonly asks: string;
  readonly pod: PodSpec;
  /**
   * What ends it, if no deletion does: its node is announced to shut down, or one of its volumes is more than full. The pod is deleted after that.
   * Time counts from the announcement, and from when the volume is full.
   */
  readonly endedBy?: "shutdown" | "full-volume";
  /** The grace period in the body of the DELETE. Default: the pod's own. */
  readonly deleteGraceSeconds?: number;
  /**
   * Time from Ready to the deletion of the pod. Default: 3 s. Right after a change of the pod the kubelet waits up to 2 s for a newer status of
   * the containers. The scenario deleted-when-just-ready asks what happens then; the others must not meet that wait.
   */
  readonly deleteAfterMs?: number;
  /** Further actions, each at a time after the deletion. */
  readonly meanwhile?: readonly Meanwhile[];
  /** Whether the scenario runs alone, because it changes the node for the others. */
  readonly alone?: boolean;
}

export type Meanwhile = { readonly afterMs: number } & (
  | { readonly do: "delete-again"; readonly graceSeconds: number }
  | { readonly do: "restart-kubelet" }
);

interface PodSpec {
  readonly graceSeconds: number;
  /** tolerationSeconds of the taint that a node has which is not ready; Kubernetes adds 300 unless given. */
  readonly notReadySeconds?: number;
  readonly containers: readonly Box[];
  /** Native sidecars, in the order of their start. */
  readonly sidecars?: readonly Box[];
}

/** A container that runs the recorder. */
export interface Box {
  readonly name: string;
  /** "exit" (default), "ignore", or the seconds after which it ends. */
  readonly onTerm?: "exit" | "ignore" | number;
  readonly exitAfterSeconds?: number;
  /** From a time after the start on, seconds, paths with this beginning are answered with 503. */
  readonly sick?: { readonly path: string; readonly afterSeconds: number };
  readonly preStop?: Hook;
  readonly readiness?: ProbeSpec;
  readonly liveness?: ProbeSpec;
}

export type Hook =
  | { readonly exec: readonly string[] }
  | { readonly httpGet: { readonly path: string; readonly port: number } }
  | { readonly sleep: { readonly seconds: number } };

interface ProbeSpec {
  readonly path: string;
  readonly periodSeconds?: number;
  readonly failureThreshold?: number;
  readonly graceSeconds?: number;
}

/** One Deployment restarted under one strategy. */
export interface RolloutScenario {
  readonly name: string;
  readonly asks: string;
  readonly replicas: number;
  readonly maxSurge: number | string;
  readonly maxUnavailable: number | string;
  readonly minReadySeconds: number;
  /** Seconds that every pod takes to end. */
  readonly endsAfterSeconds: number;
}

/** Path of the recorder in the image. */
export const recorderPath = "/recorder";

/** An exec hook that takes this time and ends with this code. */
export const execHook = (seconds: number, status = 0): Hook => ({
  exec: [recorderPath, "hook", String(seconds), String(status)],
});

export const recordsDirectory = "/records";

/** Every container of a pod has a port of its own: they share one network. */
export const portOf = (index: number): number => 8080 + index;

/** The pod as the API server gets it. */
export function podManifest(scenario: PodScenario, node: string): object {
  const { pod, name } = scenario;
  const sidecars = pod.sidecars ?? [];
  const isFilled = scenario.endedBy === "full-volume";
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { scenario: name } },
    spec: {
      nodeName: node,
      terminationGracePeriodSeconds: pod.graceSeconds,
      initContainers: sidecars.map((box, index) => ({
        ...containerManifest(box, pod.containers.length + index),
        restartPolicy: "Always",
      })),
      containers: pod.containers.map((box, index) => containerManifest(box, index, isFilled)),
      ...(pod.notReadySeconds === undefined ? {} : { tolerations: [notReady(pod.notReadySeconds)] }),
      volumes: [recordsVolume, ...(isFilled ? [scratchVolume] : [])],
    },
  };
}

const notReady = (tolerationSeconds: number): object => ({
  key: "node.kubernetes.io/not-ready",
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds,
});

/** Where something may be too much. */
export const scratchVolume = { name: "scratch", emptyDir: { sizeLimit: "1Mi" } };

/** The kubelet evicts the pod when it has next measured its volumes: within a minute, or volumeStatsAggPeriod and ten seconds. */
export async function overfill(cluster: Cluster, node: string, podUid: string): Promise<void> {
  const folder = `/var/lib/kubelet/pods/${podUid}/volumes/kubernetes.io~empty-dir/${scratchVolume.name}`;
  await cluster.inside(node, ["dd", "if=/dev/zero", `of=${folder}/full`, "bs=1M", "count=3"]);
}

/** Folder of the recordings on the node, where they outlive the pod. */
export const recordsVolume = {
  name: "records",
  hostPath: { path: "/run/records", type: "DirectoryOrCreate" },
};

export function containerManifest(box: Box, index: number, hasScratch = false): object {
  const environment: Record<string, string> = {
    CONTAINER: box.name,
    // The kubelet expands the variable, so that every pod has a file of its own.
    RECORD: `${recordsDirectory}/$(POD).jsonl`,
    PORT: String(portOf(index)),
    ON_TERM: String(box.onTerm ?? "exit"),
    ...(box.exitAfterSeconds === undefined ? {} : { EXIT_AFTER: String(box.exitAfterSeconds) }),
    ...(box.sick === undefined
      ? {}
      : { SICK_PATH: box.sick.path, SICK_AFTER: String(box.sick.afterSeconds) }),
  };
  return {
    name: box.name,
    image: recorderImage,
    command: [recorderPath, "serve"],
    env: [
      { name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      ...Object.entries(environment).map(([key, value]) => ({ name: key, value })),
    ],
    ports: [{ containerPort: portOf(index) }],
    volumeMounts: [
      { name: recordsVolume.name, mountPath: recordsDirectory },
      // The kubelet makes a volume once a container mounts it.
      ...(hasScratch ? [{ name: scratchVolume.name, mountPath: "/scratch" }] : []),
    ],
    ...(box.preStop === undefined ? {} : { lifecycle: { preStop: hookManifest(box.preStop) } }),
    ...(box.readiness === undefined ? {} : { readinessProbe: probeManifest(box.readiness, index) }),
    ...(box.liveness === undefined ? {} : { livenessProbe: probeManifest(box.liveness, index) }),
  };
}

const hookManifest = (hook: Hook): object => ("exec" in hook ? { exec: { command: hook.exec } } : hook);

function probeManifest(probe: ProbeSpec, index: number): object {
  return {
    httpGet: { path: probe.path, port: portOf(index) },
    periodSeconds: probe.periodSeconds ?? 1,
    failureThreshold: probe.failureThreshold ?? 1,
    ...(probe.graceSeconds === undefined ? {} : { terminationGracePeriodSeconds: probe.graceSeconds }),
  };
}
