/**
 * Requests of load tools people already run, instead of our own load (`--requests FILE`).
 *
 *     const { records, files, notes } = await readRequests(["k6.json.gz", "vegeta.jsonl"], {
 *       clock,                                    // the run's clock
 *       window: { from, to },                     // what was watched, milliseconds since 1970
 *       podAt: (address, at) => ...,              // where pods are known by their addresses
 *     });
 *
 * `records` go into RunRecording.records as they are; `scheduled` is their number after countedFrom: requests that the tool itself says
 * it never sent are among them, as "not-sent". `notes` belong into the report's reservations.
 */
export { requestsErrors, RequestsError, type RequestsErrorCode } from "./errors.ts";
export { formats as requestsFormats, type RequestsFormat } from "./detect.ts";
export { readRequests, type FileRead, type RequestsOptions, type RequestsRead } from "./read.ts";
