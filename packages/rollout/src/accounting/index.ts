export { account, type AccountMeta } from "./account.ts";
export { mergeRuns } from "./merge.ts";
export { skippedRemedy } from "./summary.ts";
export { average, perTermination, quantile, quantiles, type Interval } from "./statistics.ts";
