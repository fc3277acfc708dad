/** What is kept of reports. */
export interface RetentionLimits {
  readonly ageMs: number;
  readonly perNamespace: number;
  readonly inAll: number;
}

export const defaultRetention: RetentionLimits = { ageMs: 24 * 3_600_000, perNamespace: 200, inAll: 5_000 };

/** A report that is there. */
export interface Kept {
  readonly namespace: string;
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** The reports to remove: those that are too old, then the oldest of each namespace, then the oldest of all. */
export function superfluous(kept: Iterable<Kept>, limits: RetentionLimits, now: number): Kept[] {
  const { ageMs, perNamespace, inAll } = limits;
  const newest = [...kept].sort((a, b) => b.createdAt - a.createdAt);
  const counts = new Map<string, number>();
  let all = 0;
  return newest.filter(({ namespace, createdAt }) => {
    const own = counts.get(namespace) ?? 0;
    if (now - createdAt > ageMs || own >= perNamespace || all >= inAll) return true;
    counts.set(namespace, own + 1);
    all++;
    return false;
  });
}
