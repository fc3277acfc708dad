/**
 * What does a library cost before SIGTERM? CPU of the server process per request, in rounds in which every library has its turn,
 * so that a noisy machine is noisy for all; "bare again" shows what noise alone does.
 *
 *     node packages/node/bench/overhead.ts [--rounds 7] [--seconds 2] [--mode keep-alive|close] [library ...]
 */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { libraries as all } from "./libraries.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "7" },
    seconds: { type: "string", default: "2" },
    mode: { type: "string", default: "keep-alive" },
  },
});
const libraries = positionals.length > 0 ? positionals : Object.keys(all);
const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

interface Figure {
  microseconds: number;
  perSecond: number;
}

async function tell<T>(child: ChildProcess, what?: string): Promise<T> {
  const answer = once(child, "message");
  if (what) child.send(what);
  return ((await answer) as [T])[0];
}

async function measure(library: string): Promise<Figure> {
  const server = fork(file("server.ts"), [library]);
  const { port } = await tell<{ port: number }>(server);
  const warmUp = fork(file("load.ts"), [String(port), "32", "700", values.mode]);
  await tell(warmUp);
  warmUp.kill("SIGKILL");
  const before = await tell<{ cpu: NodeJS.CpuUsage }>(server, "cpu");
  const from = performance.now();
  const load = fork(file("load.ts"), [
    String(port),
    "32",
    String(Number(values.seconds) * 1_000),
    values.mode,
  ]);
  const { answered } = await tell<{ answered: number }>(load);
  const took = performance.now() - from;
  const after = await tell<{ cpu: NodeJS.CpuUsage }>(server, "cpu");
  load.kill("SIGKILL");
  server.kill("SIGKILL");
  await once(server, "close");
  const spent = after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system;
  return { microseconds: spent / answered, perSecond: (answered * 1_000) / took };
}

const figures = new Map<string, Figure[]>(libraries.map((name) => [name, []]));
for (let round = 0; round < Number(values.rounds); round++)
  // Another order in each round: who runs first finds a cooler machine.
  for (const name of libraries.map((_, index) => libraries[(index + round) % libraries.length]!))
    figures.get(name)!.push(await measure(name));

const median = (numbers: number[]): number => numbers.sort((a, b) => a - b)[numbers.length >> 1]!;
const bare = figures.get(libraries[0]!)!;
const say = (line: string): void => void process.stdout.write(`${line}\n`);
say(
  `CPU per request, ${values.mode}, ${values.rounds} rounds of ${values.seconds} s; ratio to ${libraries[0]} of the same round`,
);
for (const [name, of] of figures) {
  const ratios = of.map((figure, round) => figure.microseconds / bare[round]!.microseconds);
  const sorted = [...ratios].sort((a, b) => a - b);
  say(
    name.padEnd(24) +
      `${median(of.map((figure) => figure.microseconds)).toFixed(1)} us`.padStart(10) +
      `${median(of.map((figure) => figure.perSecond)).toFixed(0)}/s`.padStart(11) +
      `   x ${median(ratios).toFixed(3)} [${sorted[0]!.toFixed(3)} - ${sorted.at(-1)!.toFixed(3)}]`,
  );
}
