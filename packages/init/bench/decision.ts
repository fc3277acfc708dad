import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandLine } from "../../../scripts/command-line.ts";
import { compile, librarySources, packageRoot } from "../toolchain/compile.ts";
import { systemCompiler } from "../toolchain/compilers.ts";

/**
 * What the decision costs in C, beside a hold by `fixed`, which weighs nothing: processor time and memory, for one address and for thousands.
 * `npm run bench:decision -w packages/init`.
 */
commandLine(import.meta.url, { options: {} });

const folder = mkdtempSync(join(tmpdir(), "lameduck-decision-"));
try {
  const program = join(folder, "decision");
  compile(systemCompiler, ["-O2"], [...librarySources(), join(packageRoot, "bench/decision.c")], program);
  for (const policy of ["fixed", "adaptive"])
    for (const addresses of [1, 10, 100, 1_000, 10_000, 1_000_000])
      spawnSync(program, [policy, String(addresses)], { stdio: "inherit" });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
