export { findRemedy, remedies, usualRemedies } from "./catalogue.ts";
export type * from "./remedy.ts";
