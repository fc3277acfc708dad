/** One operation of a JSON patch (RFC 6902). Injection only ever adds and replaces. */
export interface PatchOperation {
  readonly op: "add" | "replace";
  readonly path: string;
  readonly value: unknown;
}

/** Why something was done to a pod, or was not. `code` is stable. */
export interface Reason {
  readonly code: string;
  readonly container?: string;
  readonly text: string;
}

/** What injection makes of one pod. An empty patch leaves it alone, and the reasons say why. */
export interface Injection {
  readonly patch: readonly PatchOperation[];
  readonly reasons: readonly Reason[];
  readonly warnings: readonly string[];
}

/** What a pod alone does not tell. */
export interface ClusterFacts {
  /** Names of what exposes the pod: "Service web", "Ingress shop". `undefined`: nobody could look. */
  readonly exposedBy: readonly string[] | undefined;
  /** Major and minor version of the API server, for example 1.36. */
  readonly version: { readonly major: number; readonly minor: number } | undefined;
  /** How long the slowest known sender takes to converge, and where that number comes from. */
  readonly convergenceSeconds: { readonly value: number; readonly origin: string } | undefined;
}
