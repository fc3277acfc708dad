/**
 * How many requests of pooled clients fail while a server is terminated, for each library. There are 320 clients, 5 ms away. After 0.5 s new
 * connections go to another server. Each library is told to wait for 1.5 s before it closes.
 *
 *     node packages/node/bench/compare.ts [library ...]
 */
import { fileURLToPath } from "node:url";
import { inPod, startScript, type Child } from "../test/child.ts";
import { between, client, tally, type Tally } from "../test/clients.ts";
import { Balancer } from "../test/network.ts";
import { libraries } from "./libraries.mjs";

const server = fileURLToPath(new URL("server.ts", import.meta.url));
const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));
const clients = (count: number, run: () => Promise<void>): Promise<void>[] =>
  Array.from({ length: count }, run);

interface Outcome {
  pooled: Tally;
  exit: string;
}

async function exitOf(child: Child, from: number): Promise<string> {
  const exit = await Promise.race([child.exited, pause(30_000 - (performance.now() - from))]);
  if (!exit) return "never";
  return `${exit.signal ?? exit.code} @${((exit.at - from) / 1_000).toFixed(1)} s`;
}

async function pools(library: string): Promise<Outcome> {
  const delay = library === "lameduck" ? [] : ["1500"];
  await using leaving = await startScript([server, library, ...delay], { ...inPod, LAMEDUCK_FLOOR: "1s" });
  await using staying = await startScript([server, "bare"]);
  const balancer = await new Balancer(leaving.port).listen();
  const [pooled, stop] = [tally(), new AbortController()];
  const { port } = balancer;
  const running = [
    ...clients(100, () => client({ port, think: between(0, 20) }, pooled, stop.signal)),
    ...clients(200, () => client({ port, think: between(50, 300) }, pooled, stop.signal)),
    ...clients(20, () => client({ port, path: "/?wait=1500", think: between(0, 20) }, pooled, stop.signal)),
  ];
  await pause(1_000);
  const from = performance.now();
  leaving.kill();
  await pause(500);
  balancer.target = staying.port;
  await Promise.race([leaving.exited, pause(5_000)]);
  stop.abort();
  const exit = await exitOf(leaving, from);
  await Promise.all(running);
  await balancer.close();
  return { pooled, exit };
}

const chosen =
  process.argv.length > 2
    ? process.argv.slice(2)
    : Object.keys(libraries).filter((name) => name !== "bare again");
const row = (...cells: string[]): void => {
  process.stdout.write(`| ${cells.map((cell, index) => cell.padEnd(index === 0 ? 22 : 14)).join(" | ")} |\n`);
};
row("library", "failed", "exit");
row("---", "---", "---");
for (const library of chosen) {
  const { pooled, exit } = await pools(library);
  row(library, `${pooled.failed} of ${pooled.sent}`, exit);
}
