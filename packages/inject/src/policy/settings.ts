/** How the binary of lameduck-init comes into a container that has none. */
export const carriers = ["configmap", "image-volume", "init-container", "none"] as const;
export type Carrier = (typeof carriers)[number];

/** As `kubernetes.io/arch` spells them: those that there is a binary for. */
export const architectures = ["amd64", "arm64"] as const;
export type Architecture = (typeof architectures)[number];

/**
 * What holds for one pod, once defaults, the cluster's DrainPolicy, the namespace's DrainPolicy and the workload's annotations are
 * merged. Times are whole seconds, as in Kubernetes; `undefined` where nobody asked for anything.
 */
export interface InjectionSettings {
  readonly inject: boolean;
  /** Least and greatest hold; without a cap it follows from the convergence. */
  readonly floorSeconds: number | undefined;
  readonly capSeconds: number | undefined;
  /** Kept for the container's own shutdown; without one it is all that the pod has today. */
  readonly reserveSeconds: number | undefined;
  readonly gracePeriodSeconds: number | undefined;
  /** No grace period is raised above it. */
  readonly maxGracePeriodSeconds: number;
  /** How long the slowest sender takes; wins over what the cluster's facts say. */
  readonly convergenceSeconds: number | undefined;
  readonly carrier: Carrier;
  /** Name of the ConfigMap, in the pod's own namespace. */
  readonly carrierName: string;
  /** Image of the image volume or the init container. */
  readonly carrierImage: string | undefined;
  /** For pods that do not say `kubernetes.io/arch`, where the facts do not tell either. */
  readonly architecture: Architecture | undefined;
  readonly instrumentNode: boolean;
  /** Only pods that a Service, an Ingress or a Gateway exposes. */
  readonly onlyExposed: boolean;
  /** What the workload says of itself (`lameduck.dev/serves`); wins over what leads to it. */
  readonly serves: boolean | undefined;
}

export const defaultSettings: InjectionSettings = {
  inject: true,
  floorSeconds: undefined,
  capSeconds: undefined,
  reserveSeconds: undefined,
  gracePeriodSeconds: undefined,
  // The cluster autoscaler waits no longer for a pod (--max-graceful-termination-sec).
  maxGracePeriodSeconds: 600,
  convergenceSeconds: undefined,
  carrier: "configmap",
  carrierName: "lameduck-init",
  carrierImage: undefined,
  architecture: undefined,
  instrumentNode: false,
  onlyExposed: true,
  serves: undefined,
};
