/** What coordinator, watcher, webhook and pods say to each other, and what they call alike. */
export * from "./addresses.ts";
export * from "./basis.ts";
export * from "./consumer-report.ts";
export * from "./coordinator-answer.ts";
export * from "./errors.ts";
export { headLine } from "./lines.ts";
export * from "./names.ts";
export * from "./pod.ts";
export * from "./stream.ts";
export { isMap, otherVersion } from "./values.ts";
