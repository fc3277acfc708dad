/**
 * `npm run build:init`: static binaries for x64 and arm64, as far as there are compilers for them here. It downloads nothing, and says by which command
 * the compiler comes that is missing.
 */
import { statSync } from "node:fs";
import { join, relative } from "node:path";
import { compileForRelease, packageRoot, programSources } from "./compile.ts";
import { findReleaseCompiler, installZig } from "./compilers.ts";
import type { Architecture } from "./index.ts";

const architectures: readonly Architecture[] = ["x64", "arm64"];
const built = architectures.filter(build);
if (built.length < architectures.length)
  process.stderr.write(`${installZig}   brings a compiler for both processors (180 kB each)\n`);
if (built.length === 0) process.exitCode = 1;

function build(architecture: Architecture): boolean {
  const compiler = findReleaseCompiler(architecture);
  if (!compiler) {
    process.stderr.write(`lameduck-init-${architecture} is not built: there is no C compiler for it here\n`);
    return false;
  }
  const output = join(packageRoot, "dist", `lameduck-init-${architecture}`);
  compileForRelease(compiler, programSources(), output);
  const command = [relative(packageRoot, compiler.command), ...compiler.first].join(" ");
  process.stdout.write(`${output}: ${statSync(output).size} bytes (${compiler.libc}, ${command})\n`);
  return true;
}
