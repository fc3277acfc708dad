/**
 * `npm run bench -w packages/init`: lameduck-init beside tini, dumb-init and catatonit, as far as they are installed, in one run
 * on one machine: only the ratios travel. Rounds alternate between the programs, so that a slow minute hits all of them.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile, packageRoot } from "../toolchain/compile.ts";
import { isInstalled, systemCompiler } from "../toolchain/compilers.ts";
import { initBinary } from "../toolchain/index.ts";
import { Network } from "../test/network.ts";
import { descendantsOf, endAll, Running, withoutNamespaces } from "../test/running.ts";

const rounds = Number(process.argv[2] ?? 5);
const perRound = 60;
const folder = mkdtempSync(join(tmpdir(), "lameduck-bench-"));
const measure = join(folder, "measure");
const asDumbInit = join(folder, "dumb-init");
symlinkSync(initBinary(), asDumbInit);

interface Contender {
  readonly name: string;
  readonly command: readonly string[];
}

const contenders: Contender[] = [
  { name: "lameduck-init", command: [initBinary(), "--"] },
  { name: "tini", command: ["tini", "-s", "--"] },
  { name: "tini-static", command: ["tini-static", "-s", "--"] },
  { name: "dumb-init -c", command: ["dumb-init", "-c", "--"] },
  // The next two commands give the program a session of its own. On machines with sched_autogroup that halves the time until the program runs.
  // Only these two can be compared with each other.
  { name: "dumb-init", command: ["dumb-init", "--"] },
  { name: "lameduck-init as dumb-init", command: [asDumbInit, "--"] },
  { name: "catatonit", command: ["catatonit", "--"] },
].filter(({ command }) => isInstalled(command[0] ?? "") || command[0]?.startsWith("/"));

try {
  compile(systemCompiler, ["-O2"], [join(packageRoot, "bench/measure.c")], measure);
  const startups = await alternate("startup", "/bin/true", [{ name: "bare", command: [] }, ...contenders]);
  const forwards = await alternate("forward", `${measure} echo`, contenders);
  print("start + true + reap, us", startups, "bare");
  print("signal to the program and back, us", forwards, "tini");
  say("\nprogram                    file, bytes   VmHWM, kB   wake-ups in 5 s");
  for (const contender of contenders) {
    const { memory, wakeUps } = await idle(contender);
    const size = statSync(realpathSync(pathOf(contender.command[0] ?? ""))).size;
    say(`${contender.name.padEnd(27)}${column(size, 11)}${column(memory, 12)}${column(wakeUps, 18)}`);
  }
  if (withoutNamespaces) say(`\nno hold with 10,000 connections: ${withoutNamespaces}`);
  else {
    const { beginning, percent } = await loadOfHold(10_000);
    say(`\nhold with 10,000 open connections: ${percent.toFixed(2)} % of a core`);
    say(`  after ${(beginning * 1_000).toFixed(0)} ms of processor time to begin it`);
  }
} finally {
  endAll();
  rmSync(folder, { recursive: true, force: true });
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Microseconds by program. Each round runs all programs, and begins with another program, because the first one finds the machine at rest. */
async function alternate(
  what: string,
  program: string,
  among: readonly Contender[],
): Promise<Map<string, number[]>> {
  const results = new Map<string, number[]>();
  for (let round = 0; round < rounds; round++)
    for (const { name, command } of [
      ...among.slice(round % among.length),
      ...among.slice(0, round % among.length),
    ]) {
      const { stdout, status, stderr } = spawnSync(
        measure,
        [what, String(perRound), ...command, ...program.split(" ")],
        { encoding: "utf8" },
      );
      if (status !== 0) throw new Error(`${name}: ${stderr}`);
      results.set(name, [...(results.get(name) ?? []), ...stdout.trim().split("\n").map(Number)]);
    }
  return results;
}

function print(title: string, results: ReadonlyMap<string, number[]>, base: string): void {
  const baseline = quantile(results.get(base) ?? [], 0.5);
  say(`\n${title.padEnd(37)}min   median      p99      max   median / ${base}`);
  for (const [name, values] of results) {
    const [least, median, p99, most] = [0, 0.5, 0.99, 1].map((share) => quantile(values, share));
    say(
      `${name.padEnd(30)}${column(least, 10)}${column(median, 9)}${column(p99, 9)}${column(most, 9)}${((median ?? 0) / baseline).toFixed(2).padStart(12)}`,
    );
  }
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}

function column(value: number | undefined, width: number): string {
  return (value ?? NaN).toFixed(0).padStart(width);
}

function pathOf(command: string): string {
  return command.startsWith("/")
    ? command
    : spawnSync("which", [command], { encoding: "utf8" }).stdout.trim();
}

function statusOf(pid: number, field: string): number {
  const text = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? NaN);
}

async function idle({
  command: [file = "", ...flags],
}: Contender): Promise<{ memory: number; wakeUps: number }> {
  const running = new Running(file, [...flags, "sh", "-c", "echo up; exec sleep 60"]);
  await running.line("up");
  await pause(300);
  const before = statusOf(running.pid, "voluntary_ctxt_switches");
  await pause(5_000);
  const wakeUps = statusOf(running.pid, "voluntary_ctxt_switches") - before;
  const memory = statusOf(running.pid, "VmHWM");
  // The program is ended first, and its init ends with it. Without the init nobody could say whose program it was.
  for (const child of descendantsOf(running.pid)) process.kill(child, "SIGKILL");
  await running.ended;
  return { memory, wakeUps };
}

/** Processor seconds that the init uses in the first 2 s of a hold, and percent of a core after them. */
async function loadOfHold(connections: number): Promise<{ beginning: number; percent: number }> {
  const network = await Network.create(1);
  try {
    const [command, ...rest] = network.asPod(
      initBinary(),
      "--policy",
      "until-deadline",
      "--",
      measure,
      "serve",
      "8080",
    );
    const server = new Running(command, rest);
    await server.line("listening");
    const [clientCommand, ...clientRest] = network.asSender(
      measure,
      "connect",
      String(connections),
      network.pod,
      "8080",
    );
    const clients = new Running(clientCommand, clientRest);
    await clients.line("connected");
    const before = processorTime(server.pid);
    server.kill("SIGTERM");
    await pause(2_000);
    const begun = processorTime(server.pid);
    await pause(10_000);
    const used = processorTime(server.pid) - begun;
    server.kill("SIGINT");
    await server.ended;
    clients.kill("SIGKILL");
    await clients.ended;
    return { beginning: begun - before, percent: used * 10 };
  } finally {
    await network[Symbol.asyncDispose]();
  }
}

/** Processor time of user and kernel, seconds. */
function processorTime(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
