import type { Evidence } from "../evidence/evidence.ts";

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
  proxy: "cut by the sender itself",
  unknown: "not explained",
} as const;

export type Cause = keyof typeof causes;

/** Says why one request was lost, with the numbers behind it, where it applies. */
export type Rule = (evidence: Evidence) => string | undefined;
