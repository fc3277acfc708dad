import { existsSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "./compile.ts";
import type { Architecture } from "./compilers.ts";

export type { Architecture };

/** The binary has not been built on this machine. */
export class MissingBinaryError extends Error {
  readonly code = "LAMEDUCK_INIT_NOT_BUILT";
  readonly remedy =
    "run `npm run build -w packages/init` where a C compiler is installed (Debian: musl-tools)";

  constructor(path: string) {
    super(`${path} does not exist`);
    this.name = "MissingBinaryError";
  }
}

/**
 * Path of the static lameduck-init binary, for this machine's architecture unless told otherwise.
 * @throws {MissingBinaryError}
 */
export function initBinary(architecture: Architecture = process.arch === "arm64" ? "arm64" : "x64"): string {
  const path = join(packageRoot, "dist", `lameduck-init-${architecture}`);
  if (!existsSync(path)) throw new MissingBinaryError(path);
  return path;
}
