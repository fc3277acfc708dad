/** Why a request was lost: the race it fell into. The order is that of the documentation. */
export const causes = {
  C1: "stale route, listener closed",
  C2: "stale route, pod gone",
  C3: "keep-alive race",
  C4: "in flight at exit",
  C5: "grace period overrun",
  C6: "left in the accept queue",
  C7: "new pod not ready",
  C8: "overloaded",
  C9: "no endpoint",
  C10: "load generator",
  C11: "another status than before",
  C12: "as often as before the rollout",
  C13: "network cut inside the grace period",
  C14: "new connections turned away from a pod that accepts",
  proxy: "cut by the sender itself",
  unknown: "not explained",
} as const;

/** Of no termination, and held against no pod: what a sender cut itself, and what fails at all times. */
export const ofNoPod: ReadonlySet<string> = new Set<Cause>(["proxy", "C12"]);

export type Cause = keyof typeof causes;
