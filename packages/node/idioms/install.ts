/** The packages of package.json beside this file, installed beside it: outside the repository's own dependencies. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const folder = import.meta.dirname;

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

const manifestIn = (path: string): Manifest =>
  JSON.parse(readFileSync(join(path, "package.json"), "utf8")) as Manifest;

export const wanted: Readonly<Record<string, string>> = manifestIn(folder).dependencies;

function isInstalled(name: string): boolean {
  const path = join(folder, "node_modules", name);
  return existsSync(join(path, "package.json")) && manifestIn(path).version === wanted[name];
}

/** @throws {Error} where the registry does not have them. */
export function install(): void {
  if (Object.keys(wanted).every(isInstalled)) return;
  const quietly = ["--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error"];
  const { status } = spawnSync("npm", ["install", "--prefix", folder, ...quietly], {
    cwd: folder,
    stdio: ["ignore", process.stderr.fd, process.stderr.fd],
  });
  if (status !== 0 || !Object.keys(wanted).every(isInstalled))
    throw new Error("the packages of the shutdown idioms could not be had from the npm registry");
}
