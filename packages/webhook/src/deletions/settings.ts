import type { Exempt } from "./not-held.ts";

export interface HoldSettings extends Exempt {
  /** The longest hold of a deletion, milliseconds, over all calls of it. The API server waits 30 s. */
  readonly limit: number;
  /** Deletions that one replica holds at a time. */
  readonly mostAtOnce: number;
  /** How long evictions are put off for a replacement, and then until the pod is let go of. */
  readonly replacement: number;
  readonly evictionLimit: number;
  /** How long an eviction is put off where another pod is all that it waits for. */
  readonly surgeReplacement: number;
}

/** Those that must never wait: they would block a node, the scheduler, or the end of a namespace. */
export const alwaysExempt: readonly string[] = [
  "system:nodes",
  "system:kube-scheduler",
  "system:serviceaccount:kube-system:generic-garbage-collector",
  "system:serviceaccount:kube-system:namespace-controller",
];

export const holdDefaults = { limit: 25_000, mostAtOnce: 50 } as const;

/** Milliseconds until senders have converged, where nobody says anything of a pod. The injection reckons with the same. */
export const usualConvergence = 15_000;
