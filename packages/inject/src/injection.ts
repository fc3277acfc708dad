import type { Architecture } from "./policy/settings.ts";

/** The coordinator that pods ask whether all senders have let go of them (docs/contributing/acknowledgements-protocol.md). */
export interface PodsCoordinator {
  /** "http://HOST:PORT" */
  readonly address: string;
  readonly mode: "availability" | "consistency";
}

/** One operation of a JSON patch (RFC 6902). Injection only ever adds and replaces. */
export interface PatchOperation {
  readonly op: "add" | "replace";
  readonly path: string;
  readonly value: unknown;
}

/** Why something was done to a pod, or was not. `code` is one of `reasonCodes`. */
export interface Reason {
  readonly code: ReasonCode;
  readonly container?: string;
  readonly text: string;
}

/** Whole seconds, as in Kubernetes. */
export interface Times {
  readonly convergence: { readonly value: number; readonly origin: string };
  /** terminationGracePeriodSeconds, before and after. */
  readonly graceBefore: number;
  readonly grace: number;
  /** The longest hold that fits; below 1 there is no time for any. */
  readonly hold: number;
  /** For people: how hold and grace come about. */
  readonly because: { readonly hold: string; readonly grace: string };
}

/** What injection makes of one pod. An empty patch leaves it alone, and the reasons say why. */
export interface Injection {
  readonly patch: readonly PatchOperation[];
  readonly reasons: readonly Reason[];
  readonly warnings: readonly string[];
  /** Of a pod that is injected. */
  readonly times?: Times;
}

/** What a pod alone does not tell. */
export interface ClusterFacts {
  /** The version of Lameduck, which what is injected names. */
  readonly lameduckVersion: string;
  /** Names of what exposes the pod: "Service web", "Ingress shop". `undefined`: nobody could look. Where there is none, declared ports count. */
  readonly exposedBy: readonly string[] | undefined;
  /** Major and minor version of the API server, for example 1.36. */
  readonly version: { readonly major: number; readonly minor: number } | undefined;
  /** How long the slowest known sender takes to converge, and where that number comes from. */
  readonly convergenceSeconds: { readonly value: number; readonly origin: string } | undefined;
  /** The processors of all nodes that pods may be scheduled to. */
  readonly architectures: readonly Architecture[] | undefined;
  /** What is injected may be taken out again, by `lameduck inject --remove`: the pod template says what is needed for that. */
  readonly isUndoable?: boolean | undefined;
  /** Where acknowledgements are on. */
  readonly coordinator?: PodsCoordinator | undefined;
  /** What makes the pods, where they do not say it by an owner: "StatefulSet". */
  readonly workloadKind?: string | undefined;
}

/** Each with what it means; docs/operate/inject.md lists them. */
export const reasonCodes = {
  "held-by-hook": "a preStop hook of lameduck-init holds the stop signal while traffic comes",
  "held-by-sleep": "the kubelet's own sleep holds the stop signal for a fixed time",
  "held-by-library": "@lameduck/node is loaded into the Node app",
  "sidecar-ordered":
    "the stop signal of a sidecar, or of what is behind a front, waits until the holds of the others are over",
  "sleep-instead": "lameduck-init cannot be used, and the kubelet sleeps instead; the text says why",
  "grace-raised": "terminationGracePeriodSeconds was raised to fit the hold",
  "environment-only":
    "LAMEDUCK_GRACE_PERIOD or another time was added for a Lameduck that the container brings itself",
  "own-lameduck": "the container brings Lameduck itself, and that wins",
  "hook-kept": "the container has a preStop hook, and that stays; the text says why",
  "sleep-replaced": "a hold comes in place of a preStop hook that only sleeps",
  "opted-out": "a preStop sleep of 0 seconds, or the annotation, says no",
  "native-sidecar": "the kubelet stops it after all others anyway",
  "not-exposed": "nothing leads requests to the pod, and it declares no port",
  "already-injected": "the pod was injected before",
  "nothing-to-do": "no container is left that could be held",
  "no-time": "the grace period leaves no time for a hold",
  "no-init-volume": "neither lameduck-init nor the kubelet's sleep can be used",
  "killed-at-once": "its grace period is 0, so it is killed at once",
  "not-a-pod": "it has no list of containers",
  "too-many-containers": "it has more containers than any pod that runs",
  "of-a-job": "a Job's pod ends by itself",
  "ends-by-itself": "activeDeadlineSeconds or restartPolicy say that the pod is no server",
  "static-pod": "the kubelet makes it from a file and admission cannot change it",
  windows: "lameduck-init runs on Linux only",
  "namespace-not-labelled": "its namespace is not labelled lameduck.dev/inject: enabled",
  "system-namespace": "Lameduck's own namespace and kube-system are left alone",
} as const;

export type ReasonCode = keyof typeof reasonCodes;

/** What to do about those of which the text does not say it. */
export const reasonRemedies: Readonly<Partial<Record<ReasonCode, string>>> = {
  "hook-kept":
    "put a hold in place of a hook that only sleeps: --replace-sleep of lameduck inject, existingSleep: replace of a DrainPolicy or the annotation lameduck.dev/existing-sleep: replace; beside any other hook the container can hold by itself, with @lameduck/node in its program or lameduck-init as its PID 1",
};
