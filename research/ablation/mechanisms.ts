/** One line of the rule's sources, and what it is without the mechanism. */
export interface Mechanism {
  readonly name: string;
  /** Below packages/drain/src. */
  readonly file: string;
  readonly whole: string;
  readonly changed: string;
}

export const mechanisms: readonly Mechanism[] = [
  {
    name: "shared delays",
    file: "belief/hypotheses.ts",
    whole: "const delayWeights = [8, 1, 1, 1, 0.5, 0.2, 0.02, 0.003] as const;",
    changed: "const delayWeights = [8, 1e-12, 1e-12, 1e-12, 1e-12, 1e-12, 1e-12, 1e-12] as const;",
  },
  {
    name: "the delay of the latest arrival",
    file: "belief/hypotheses.ts",
    whole: "latest.at > 0 ? Math.min(1, 1 / (latest.rate * way)) : 0",
    changed: "0",
  },
  {
    name: "counted time",
    file: "belief/hypotheses.ts",
    whole: "return Math.min(convergence, time);",
    changed: "return convergence > 0 ? time : 0;",
  },
  {
    name: "longest gap",
    file: "belief/evidence.ts",
    whole: "longestGap > 0 ? expected / longestGap / bursts : Infinity",
    changed: "longestGap < 0 ? expected / bursts : Infinity",
  },
  {
    name: "bursts",
    file: "belief/evidence.ts",
    whole: "const burstiness = 0.4;",
    changed: "const burstiness = 0;",
  },
  {
    name: "pauses",
    file: "senders/gaps.ts",
    whole: "const shortestPause = 3_000;",
    changed: "const shortestPause = Infinity;",
  },
  {
    name: "left for good",
    file: "senders/senders.ts",
    whole: "if (left && gaps.areOfLongStanding) return undefined;",
    changed: "",
  },
  {
    name: "slowed",
    file: "senders/senders.ts",
    whole: "slowed ? { meanGap: recent, worth } : undefined",
    changed: "slowed && worth < 0 ? { meanGap: recent, worth } : undefined",
  },
  {
    name: "pools asked",
    file: "senders/senders.ts",
    whole: "return pool && requests",
    changed: "return pool && requests && requests.rate < 0",
  },
  {
    name: "returning",
    file: "senders/senders.ts",
    whole: "const returning = pool?.returning;",
    changed: "const returning = undefined as Gaps | undefined;",
  },
  {
    name: "a table of 128, not of 1,024",
    file: "config.ts",
    whole: "maxSenders: 128,",
    changed: "maxSenders: 1024,",
  },
];
