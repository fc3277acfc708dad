import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { MissingBinaryError } from "./errors.ts";

export { initErrors } from "./errors.ts";

export type Architecture = "x64" | "arm64";

/**
 * Path of the static lameduck-init binary, for this machine's architecture unless told otherwise.
 * @throws {MissingBinaryError}
 */
export function initBinary(architecture: Architecture = process.arch === "arm64" ? "arm64" : "x64"): string {
  const path = fileURLToPath(new URL(`../dist/lameduck-init-${architecture}`, import.meta.url));
  if (!existsSync(path)) throw new MissingBinaryError(path);
  return path;
}
