import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const packages = fileURLToPath(new URL("../../", import.meta.url));

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}: ${error?.message ?? stderr}`);
  return stdout;
}

/** @returns a folder in which this package is installed as it would be published, nothing more and nothing less. To be removed. */
export function installPacked(): string {
  const folder = mkdtempSync(join(tmpdir(), "lameduck-packed-"));
  const archive = run("npm", ["pack", "--silent", "--pack-destination", folder], join(packages, "node"));
  writeFileSync(join(folder, "package.json"), "{}");
  // npm unpacks by itself: a machine need not have tar and gzip.
  run("npm", ["install", "--silent", "--offline", "--no-audit", "--no-fund", `./${archive.trim()}`], folder);
  return folder;
}
