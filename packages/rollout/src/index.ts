export { runClock, type RunClock } from "./model/clock.ts";
export { causes, type Cause } from "./model/causes.ts";
export type * from "./model/endpoints.ts";
export type * from "./model/request.ts";
export type * from "./model/results.ts";
export type * from "./model/timeline.ts";
