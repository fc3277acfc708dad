import type { Phase } from "../events.ts";

/** What a health route of the application should answer. */
export interface Readiness {
  readonly ready: boolean;
  /** For the answer: 200, or 503. */
  readonly status: 200 | 503;
  readonly phase: Phase;
}

/**
 * Ready through the hold, too: endpoints of a deleted pod move by its deletion, and where all of them terminate kube-proxy falls back to
 * those that are ready. Not where somebody learns of a pod's end by its health alone.
 */
export function readinessIn(phase: Phase, learnsByHealth: boolean): Readiness {
  const ready = phase === "serving" || (phase === "lame-duck" && !learnsByHealth);
  return { ready, status: ready ? 200 : 503, phase };
}
