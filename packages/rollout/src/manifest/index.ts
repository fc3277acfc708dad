export { manifestFromCommand, type CommandOptions } from "./command.ts";
export { ManifestError, manifestErrors, type ManifestErrorCode } from "./errors.ts";
export { readManifest } from "./read.ts";
export type * from "./template.ts";
