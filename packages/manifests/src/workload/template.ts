/** A pod as the stage runs it: the parts of a manifest that make sense on one machine, with names and defaults resolved. */
export interface PodTemplate {
  /** The name of the workload. Its pods are called `${name}-1`, `${name}-2` ... */
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** In order of their start. */
  readonly initContainers: readonly InitContainerTemplate[];
  readonly containers: readonly ContainerTemplate[];
  readonly graceSeconds: number;
  readonly restartPolicy: "Always" | "OnFailure" | "Never";
  /** Names of the volumes that are an empty directory. */
  readonly emptyDirs: readonly string[];
  /** Volumes of ConfigMaps and Secrets. */
  readonly filled?: readonly FilledVolume[];
  /** Where senders reach the pod: the Service's target port, else the first port that a container declares. */
  readonly port: number;
}

export interface ContainerTemplate {
  readonly name: string;
  /** The image that it names, and where; absent where a given program takes its place. */
  readonly image?: { readonly name: string; readonly place: string };
  /** Command and arguments; `$(VAR)` is expanded when the container starts. Empty where only the image knows it. */
  readonly command: readonly string[];
  /** For the image's own command, which is then not known here. */
  readonly args?: readonly string[];
  /** Of a container with an image. */
  readonly security?: Security;
  /** The file system that it runs on; absent for that of this machine. */
  readonly root?: ContainerRoot;
  readonly workingDirectory?: string;
  readonly env: readonly EnvEntry[];
  readonly ports: readonly ContainerPort[];
  readonly startup?: Probe;
  readonly liveness?: Probe;
  readonly readiness?: Probe;
  readonly postStart?: Handler;
  readonly preStop?: Handler;
  /** `lifecycle.stopSignal`, such as SIGQUIT; default SIGTERM. */
  readonly stopSignal?: string;
  readonly mounts: readonly Mount[];
}

export interface InitContainerTemplate extends ContainerTemplate {
  /** `restartPolicy: Always`: it keeps running beside the containers and is stopped after them. */
  readonly sidecar: boolean;
}

/** `securityContext` of a container and its pod, as far as the container's user and files follow from it. */
export interface Security {
  readonly user?: number;
  readonly group?: number;
  readonly mustNotBeRoot?: boolean;
  /** `supplementalGroups` and `fsGroup`. */
  readonly groups: readonly number[];
  readonly isRootReadOnly?: boolean;
  readonly noNewPrivileges?: boolean;
  /** Names without CAP_, in capitals; ALL for all. */
  readonly droppedCapabilities: readonly string[];
}

/** The root file system of an image, and who runs there. */
export interface ContainerRoot {
  /** The folder on this machine. */
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user: number;
  readonly group: number;
  readonly groups: readonly number[];
  /** Files of this machine that are put into it. */
  readonly files?: readonly { readonly from: string; readonly to: string }[];
}

export interface ContainerPort {
  readonly name?: string;
  readonly port: number;
}

export type EnvEntry =
  | { readonly name: string; readonly value: string }
  | { readonly name: string; readonly field: string };

export interface FilledVolume {
  readonly name: string;
  readonly files: readonly VolumeFile[];
}

export interface VolumeFile {
  /** In the volume. */
  readonly path: string;
  readonly bytes: Buffer;
  readonly mode: number;
}

export interface Mount {
  readonly volume: string;
  readonly path: string;
  /** The part of the volume that is mounted, and whether it is a file. */
  readonly subPath?: string;
  readonly isFile?: boolean;
}

export type Handler =
  | { readonly kind: "exec"; readonly command: readonly string[] }
  | {
      readonly kind: "http";
      readonly scheme: "HTTP" | "HTTPS";
      /** Absent for the pod's own address. */
      readonly host?: string;
      readonly port: number;
      readonly path: string;
      readonly headers: readonly (readonly [string, string])[];
    }
  | { readonly kind: "tcp"; readonly port: number }
  | { readonly kind: "sleep"; readonly seconds: number };

export interface Probe {
  readonly handler: Handler;
  readonly initialDelaySeconds: number;
  readonly periodSeconds: number;
  readonly timeoutSeconds: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
  /** The probe's own terminationGracePeriodSeconds: only for kills that it causes. */
  readonly graceSeconds?: number;
}

/** A number of pods, or a share of the replicas such as "25%". */
export type CountOrShare = number | `${number}%`;

export type Strategy =
  | { readonly kind: "rolling"; readonly maxSurge: CountOrShare; readonly maxUnavailable: CountOrShare }
  /** All old pods are gone before the first new one comes. */
  | { readonly kind: "recreate" }
  /** StatefulSet: from the highest ordinal down, one at a time. */
  | { readonly kind: "ordered"; readonly partition: number; readonly startTogether: boolean };

export interface Workload {
  readonly kind: "Deployment" | "StatefulSet" | "Pod";
  readonly template: PodTemplate;
  readonly replicas: number;
  readonly strategy: Strategy;
  readonly minReadySeconds: number;
  readonly progressDeadlineSeconds: number;
  /** Fields that the manifest asks for and the stage leaves out, with their places. */
  readonly warnings: readonly string[];
}
