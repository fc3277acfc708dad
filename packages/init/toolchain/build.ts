/** `npm run build:init`: static binaries for x64 and arm64, as far as there are compilers for them here. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { compileForRelease, packageRoot, programSources } from "./compile.ts";
import { findCompiler } from "./compilers.ts";
import type { Architecture } from "./index.ts";

const architectures: readonly Architecture[] = ["x64", "arm64"];
const missing = architectures.filter((architecture) => !build(architecture));
if (missing.length === architectures.length) process.exitCode = 1;

function build(architecture: Architecture): boolean {
  const compiler = findCompiler(architecture);
  if (!compiler) {
    process.stderr.write(
      `no compiler for ${architecture}: install ${architecture === "x64" ? "musl-tools or gcc" : "gcc-aarch64-linux-gnu and libc6-dev-arm64-cross"}\n`,
    );
    return false;
  }
  const output = join(packageRoot, "dist", `lameduck-init-${architecture}`);
  compileForRelease(compiler.command, programSources(), output);
  process.stdout.write(`${output}: ${statSync(output).size} bytes (${compiler.libc}, ${compiler.command})\n`);
  return true;
}
