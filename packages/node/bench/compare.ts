/**
 * What each library loses when a pod is terminated, in two situations, on this machine:
 *
 * - unaware: for 3 s after SIGTERM the load balancer goes on sending, new and pooled connections (every library at its defaults);
 * - pools: 320 pooled clients, 5 ms away; new connections go elsewhere from 0.5 s on (every library told to wait 1.5 s first).
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
  fresh: Tally;
  pooled: Tally;
  exit: string;
}

async function exitOf(child: Child, from: number): Promise<string> {
  const exit = await Promise.race([child.exited, pause(30_000 - (performance.now() - from))]);
  if (!exit) return "never";
  return `${exit.signal ?? exit.code} @${((exit.at - from) / 1_000).toFixed(1)} s`;
}

async function unaware(library: string): Promise<Outcome> {
  await using child = await startScript([server, library], inPod);
  const [fresh, pooled, stop] = [tally(), tally(), new AbortController()];
  const { port } = child;
  const running = [
    ...clients(10, () => client({ port, think: between(50, 150), fresh: true }, fresh, stop.signal)),
    ...clients(20, () => client({ port, path: "/?wait=20", think: between(5, 15) }, pooled, stop.signal)),
    ...clients(8, () => client({ port, path: "/?wait=800", think: between(0, 50) }, pooled, stop.signal)),
  ];
  await pause(1_000);
  const from = performance.now();
  child.kill();
  await pause(3_000);
  stop.abort();
  const exit = await exitOf(child, from);
  await Promise.all(running);
  return { fresh, pooled, exit };
}

async function pools(library: string): Promise<Outcome> {
  const delay = library === "lameduck" ? [] : ["1500"];
  await using leaving = await startScript([server, library, ...delay], { ...inPod, LAMEDUCK_FLOOR: "1s" });
  await using staying = await startScript([server, "bare"]);
  const balancer = await new Balancer(leaving.port).listen();
  const [fresh, pooled, stop] = [tally(), tally(), new AbortController()];
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
  return { fresh, pooled, exit };
}

const chosen =
  process.argv.length > 2
    ? process.argv.slice(2)
    : Object.keys(libraries).filter((name) => name !== "bare again");
const row = (...cells: string[]): void => {
  process.stdout.write(`| ${cells.map((cell, index) => cell.padEnd(index === 0 ? 22 : 14)).join(" | ")} |\n`);
};
const lost = ({ failed, sent }: Tally): string => `${failed} of ${sent}`;
row("library", "unaware: new", "pooled", "exit", "pools", "exit");
row("---", "---", "---", "---", "---", "---");
for (const library of chosen) {
  const first = await unaware(library);
  const second = await pools(library);
  row(library, lost(first.fresh), lost(first.pooled), first.exit, lost(second.pooled), second.exit);
}
