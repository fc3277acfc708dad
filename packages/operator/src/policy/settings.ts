/** How the binary of lameduck-init comes into a container that has none. */
export type Carrier = "configmap" | "image-volume" | "init-container" | "none";

/**
 * What holds for one pod, once defaults, the cluster's DrainPolicy, the namespace's DrainPolicy and the workload's annotations are
 * merged. Every field has a value. Times are whole seconds, as in Kubernetes.
 */
export interface InjectionSettings {
  readonly inject: boolean;
  /** Least and greatest hold; without a cap it is what the grace period leaves. */
  readonly floorSeconds: number | undefined;
  readonly capSeconds: number | undefined;
  readonly reserveSeconds: number | undefined;
  readonly gracePeriodSeconds: number | undefined;
  readonly maxGracePeriodSeconds: number | undefined;
  readonly carrier: Carrier;
  readonly carrierName: string;
  readonly instrumentNode: boolean;
  /** Only pods that a Service, an Ingress or a Gateway exposes. */
  readonly onlyExposed: boolean;
}
