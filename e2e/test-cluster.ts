/**
 * Runs the tests that need a real Kubernetes, and builds first what they need:
 *
 *     npm run test:cluster                          all of them, some 35 minutes at most
 *     npm run test:cluster -- rollout               those whose file name contains "rollout"
 *     npm run test:cluster -- argo-cd flux          the same, and builds Argo CD and Flux for it; so does argo-rollouts
 *     npm run test:cluster -- --not crash,rights    all but those
 *
 * It leaves nothing behind. If this machine cannot run a cluster, it says so in one line and exits with 0.
 */
import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import {
  chosen,
  ClusterError,
  findProgram,
  leftovers,
  prepare,
  prepareHelm,
  prepareKubeRouter,
  refuseIfInUse,
  requireHost,
  stateDirectory,
  tearDown,
  whyNot,
} from "./cluster/index.ts";
import { interruption, say } from "./program.ts";
import { commandLine } from "../scripts/command-line.ts";

const { positionals: wanted, values } = commandLine(import.meta.url, {
  allowPositionals: true,
  options: { not: { type: "string", default: "" } },
});
const unwanted = values.not.split(",").filter((part) => part !== "");
const root = join(import.meta.dirname, "..");
/** Several times what it takes (docs: e2e/README.md); a hanging run must not hold a CI runner for hours. */
const limits = { buildMs: 120_000, fileMs: 10 * 60_000, allMs: 35 * 60_000 };

const stop = interruption();

/** Runs one of our own programs to its end; returns whether it succeeded. */
function node(args: readonly string[], timeoutMs: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: "inherit" });
    const end = (): void => void child.kill("SIGTERM");
    const late = setTimeout(() => {
      say(`test:cluster: ended after ${timeoutMs / 60_000} minutes: ${args.join(" ").slice(0, 100)}`);
      end();
    }, timeoutMs);
    stop.addEventListener("abort", end, { once: true });
    child.on("error", reject).on("close", (code) => {
      clearTimeout(late);
      stop.removeEventListener("abort", end);
      resolve(code === 0);
    });
  });
}

/** The packages: as the tests import them, and as they go into the images. */
async function build(): Promise<boolean> {
  return (
    (await node(["node_modules/.bin/tsc", "-b"], limits.buildMs)) &&
    (await node(["packages/init/toolchain/build.ts"], limits.buildMs))
  );
}

async function testFiles(wanted: readonly string[]): Promise<string[]> {
  const directory = join(import.meta.dirname, "test");
  return (await readdir(directory))
    .filter((name) => name.endsWith(".test.ts"))
    .filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
    .filter((name) => !unwanted.some((part) => name.includes(part)))
    .sort()
    .map((name) => join(directory, name));
}

/** Ends what a test that was cut off left running; whether anything resists is told. */
async function tidy(): Promise<boolean> {
  await tearDown(stateDirectory());
  const left = await leftovers(stateDirectory());
  for (const line of left) say(`test:cluster: left behind: ${line}`);
  return left.length === 0;
}

async function main(): Promise<number> {
  const reason = await whyNot();
  if (reason !== undefined) {
    say(`test:cluster: nothing run: ${reason}`);
    return 0;
  }
  await refuseIfInUse(stateDirectory());
  const files = await testFiles(wanted);
  if (files.length === 0) {
    say(`test:cluster: no test file whose name contains ${wanted.join(" or ")}`);
    return 2;
  }
  await requireHost(say);
  if (!(await build())) return 1;
  await prepare(say);
  const runs = (name: string): boolean => files.some((file) => file.endsWith(`/${name}.test.ts`));
  if (runs("install")) await prepareHelm(say);
  // The test itself says that it does nothing without ipset.
  if (runs("network-policy") && (await findProgram("ipset")) !== undefined) await prepareKubeRouter(say);
  // Their tests themselves say that they do nothing where these are not built. Not for "rollout", which a name contains.
  for (const [name, prepareChosen] of Object.entries(chosen))
    if (wanted.includes(name)) await prepareChosen(say);
  stop.throwIfAborted();
  // One file at a time: there is one cluster.
  const options = ["--test", "--test-concurrency=1", `--test-timeout=${limits.fileMs}`];
  try {
    const passed = await node([...options, ...files], limits.allMs);
    return (await tidy()) && passed ? 0 : 1;
  } catch (error) {
    await tidy();
    throw error;
  }
}

try {
  process.exitCode = await main();
  if (stop.aborted) process.exitCode = 130;
} catch (error) {
  if (error instanceof ClusterError) say(`${error.code} ${error.message}\n  ${error.remedy}`);
  else say(`test:cluster: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = stop.aborted ? 130 : 3;
}
