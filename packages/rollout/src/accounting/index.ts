export { account, type AccountMeta } from "./account.ts";
export { mergeRuns } from "./merge.ts";
export { skippedRemedy } from "./summary.ts";
export { average, boundAfterNone, perTermination, quantile, quantiles, type Interval } from "./statistics.ts";
export { buildResults, type ResultsParts } from "./document/build.ts";
export { ResultsError, resultsErrors, type ResultsErrorCode } from "./document/errors.ts";
export { resultsJsonSchema } from "./document/json-schema.ts";
export { parseResults, serialiseResults } from "./document/parse.ts";
