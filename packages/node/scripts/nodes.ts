/**
 * Runs this package's tests, whole, under other versions of Node, which come from the npm registry and are kept in
 * node_modules/.cache. A line for each file on stderr, with its output where it fails, and a line for each version on stdout.
 *
 *     npm run test:nodes -w packages/node [-- 22 26 newest [part of a test file's name ...]]
 *
 * `newest` is the newest version that the registry has, supported or not: it tells what of src/internals.ts is about to go.
 */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { fetchNode, newestNode } from "../../../scripts/other-nodes.ts";

const supported = ["22", "24", "26"];
/** The oldest that knows all of the tests' syntax, `using` for one. */
const newSyntax = 24;
const own = fileURLToPath(new URL("..", import.meta.url));
const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** Ends with 3 where the registry does not have it. */
function orGiveUp(find: () => string): string {
  try {
    return find();
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    process.exit(3);
  }
}

let running: ChildProcess | undefined;
/** What tests leave there when they are interrupted goes with it. */
const temporary = mkdtempSync(join(tmpdir(), "lameduck-nodes-"));
process.on("exit", () => rmSync(temporary, { recursive: true, force: true }));

for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)
  process.on(signal, () => {
    // A session of its own: the servers under test would take any other signal for their pod's end, and hold.
    if (running?.pid !== undefined) process.kill(-running.pid, "SIGKILL");
    process.exit(code);
  });

interface Outcome {
  readonly passed: number;
  readonly isGood: boolean;
  readonly output: string;
}

function runFile(binary: string, version: string, file: string): Promise<Outcome> {
  const rewritten =
    Number.parseInt(version, 10) < newSyntax ? ["--import", join(own, "scripts/old-syntax.mjs")] : [];
  const runner = ["--test", "--test-reporter=spec", "--test-timeout=300000"];
  return new Promise((resolve, reject) => {
    const child = spawn(binary, [...rewritten, ...runner, file], {
      cwd: own,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, TMPDIR: temporary },
    });
    running = child;
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.on("error", reject);
    child.on("close", (code) => {
      running = undefined;
      const count = (what: string): number =>
        Number(new RegExp(`^\\S* ?${what} (\\d+)$`, "m").exec(output)?.[1] ?? 0);
      const passed = count("pass");
      // A skipped test, or a file without any, is none that was run.
      resolve({ passed, isGood: code === 0 && passed > 0 && count("skipped") === 0, output });
    });
  });
}

const seconds = (from: number): string => `${((performance.now() - from) / 1_000).toFixed(0)} s`;

const words = process.argv.slice(2);
const isVersion = (word: string): boolean => /^(\d+|newest)$/.test(word);
const versions = words.filter(isVersion);
const parts = words.filter((word) => !isVersion(word));
const stranger = versions.find((version) => version !== "newest" && !supported.includes(version));
const files = globSync("test/*.test.ts", { cwd: own })
  .filter((path) => parts.length === 0 || parts.some((part) => path.includes(part)))
  .sort();
if (stranger !== undefined || files.length === 0) {
  say(
    stranger === undefined
      ? `no test file is named ${parts.join(", ")}`
      : `Node ${stranger} is none of ${supported.join(", ")}`,
  );
  process.exit(2);
}

// Not 24, unless asked for: that is what `npm test` runs on.
for (const wanted of versions.length > 0 ? versions : ["22", "26"]) {
  const binary = orGiveUp(() => fetchNode(wanted === "newest" ? newestNode() : wanted));
  const version = spawnSync(binary, ["--version"], { encoding: "utf8" }).stdout.trim();
  const from = performance.now();
  const failed: string[] = [];
  let tests = 0;
  for (const file of files) {
    const begun = performance.now();
    // One at a time: several measure what load does to servers, on what may be two cores.
    const { passed, isGood, output } = await runFile(binary, version.slice(1), file);
    tests += passed;
    if (!isGood) {
      failed.push(basename(file));
      say(output);
    }
    say(`${version} ${basename(file)}: ${isGood ? `${passed} passed` : "FAILED"} in ${seconds(begun)}`);
  }
  const verdict =
    failed.length === 0
      ? `${tests} tests in ${files.length} files passed`
      : `${failed.length} of ${files.length} files failed: ${failed.join(" ")}`;
  process.stdout.write(`${version}: ${verdict}, ${seconds(from)}\n`);
  if (failed.length > 0) process.exitCode = 1;
}
