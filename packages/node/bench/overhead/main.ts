/**
 * What does a library cost before SIGTERM?
 *
 *     npm run overhead -w packages/node -- [keep-alive|close|http2|memory] [--epochs 5] [--slices 8] [--slice 250] [library ...]
 *
 * CPU of the server process per request: in each epoch all servers run at once, idle but for the one whose turn it is, and take turns
 * in short slices, so that a noisy machine is noisy for all. A ratio is that of two slices next to one another, and an epoch's is
 * the median of them; the range is that of the epochs, as no two processes of the same program cost the same. "bare again" shows
 * what chance alone does.
 */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { libraries as all } from "../libraries.mjs";
import { keepAlive, target, type Mode, type Target } from "./load.ts";
import { commandLine } from "../../../../scripts/command-line.ts";

const { values, positionals } = commandLine(import.meta.url, {
  allowPositionals: true,
  options: {
    epochs: { type: "string", default: "5" },
    slices: { type: "string", default: "8" },
    slice: { type: "string", default: "250" },
    connections: { type: "string", default: "4000" },
  },
});
const [mode = "keep-alive", ...named] = positionals;
const libraries = named.length > 0 ? named : Object.keys(all);
/** Until then a library may still be busy with connections that are new to it. */
const settle = 1_200;

interface Reading {
  cpu: number;
  heap: number;
}

class Server {
  readonly process: ChildProcess;
  readonly port: number;
  readonly attached: number;

  private constructor(process: ChildProcess, port: number, attached: number) {
    this.process = process;
    this.port = port;
    this.attached = attached;
  }

  static async start(library: string, protocol: "http1" | "http2"): Promise<Server> {
    const file = fileURLToPath(new URL("server.ts", import.meta.url));
    const process = fork(file, [library, protocol], { execArgv: ["--expose-gc"] });
    const [{ port, attached }] = (await once(process, "message")) as [{ port: number; attached: number }];
    return new Server(process, port, attached);
  }

  async read(what: "cpu" | "memory"): Promise<Reading> {
    const answer = once(this.process, "message");
    this.process.send(what);
    return ((await answer) as [Reading])[0];
  }

  async stop(): Promise<void> {
    this.process.kill("SIGKILL");
    await once(this.process, "close");
  }
}

const pause = (milliseconds: number): Promise<void> => new Promise((done) => setTimeout(done, milliseconds));
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const row = (...cells: string[]): void =>
  say(`| ${cells.map((cell, index) => cell.padEnd(index === 0 ? 22 : 13)).join(" | ")} |`);

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return ((sorted[(sorted.length - 1) >> 1] ?? NaN) + (sorted[sorted.length >> 1] ?? NaN)) / 2;
}

interface Epoch {
  ratio: number;
  microseconds: number;
  p99: number;
  attached: number;
}

async function slice(server: Server, load: Target): Promise<{ microseconds: number; p99: number }> {
  const before = await server.read("cpu");
  const { answered, p99 } = await load.run(Number(values.slice));
  const after = await server.read("cpu");
  return { microseconds: (after.cpu - before.cpu) / answered, p99 };
}

async function epoch(of: Mode): Promise<Map<string, Epoch>> {
  const servers = new Map<string, { server: Server; load: Target }>();
  for (const library of libraries) {
    const server = await Server.start(library, of === "http2" ? "http2" : "http1");
    servers.set(library, { server, load: await target(of, server.port) });
  }
  for (const { load } of servers.values()) await load.run(400);
  await pause(settle);
  const slices: Map<string, { microseconds: number; p99: number }>[] = [];
  for (let turn = 0; turn < Number(values.slices); turn++) {
    const figures = new Map<string, { microseconds: number; p99: number }>();
    // Another order each time: who comes after whom must not matter.
    const order = [...servers].sort(() => Math.random() - 0.5);
    for (const [library, { server, load }] of order) figures.set(library, await slice(server, load));
    slices.push(figures);
  }
  const results = new Map<string, Epoch>();
  for (const [library, { server, load }] of servers) {
    const own = slices.map((figures) => figures.get(library)!);
    const bare = slices.map((figures) => figures.get(libraries[0]!)!);
    results.set(library, {
      ratio: median(own.map(({ microseconds }, turn) => microseconds / bare[turn]!.microseconds)),
      microseconds: median(own.map(({ microseconds }) => microseconds)),
      p99: median(own.map(({ p99 }) => p99)),
      attached: server.attached,
    });
    load.close();
    await server.stop();
  }
  return results;
}

async function perRequest(of: Mode): Promise<void> {
  const epochs: Map<string, Epoch>[] = [];
  for (let count = 0; count < Number(values.epochs); count++) epochs.push(await epoch(of));
  say(
    `${of}: ${values.epochs} epochs of ${values.slices} slices of ${values.slice} ms, Node ${process.version}\n`,
  );
  row("library", "CPU/request", `x ${libraries[0]}`, "range", "p99", "to attach");
  row("---", "---", "---", "---", "---", "---");
  for (const library of libraries) {
    const own = epochs.map((results) => results.get(library)!);
    const ratios = own.map(({ ratio }) => ratio).sort((a, b) => a - b);
    row(
      library,
      `${median(own.map(({ microseconds }) => microseconds)).toFixed(1)} us`,
      median(ratios).toFixed(3),
      `${ratios[0]!.toFixed(3)}-${ratios.at(-1)!.toFixed(3)}`,
      `${median(own.map(({ p99 }) => p99)).toFixed(2)} ms`,
      `${median(own.map(({ attached }) => attached)).toFixed(0)} ms`,
    );
  }
}

/** Heap per connection that is open and idle, and what the process does while nothing happens. */
async function memory(): Promise<void> {
  const connections = Number(values.connections);
  say(`${connections} connections, idle after one request each, median of 3, Node ${process.version}\n`);
  row("library", "heap each", "beyond bare", "idle CPU");
  row("---", "---", "---", "---");
  let bare = NaN;
  for (const library of libraries) {
    const heaps: number[] = [];
    const idle: number[] = [];
    for (let round = 0; round < 3; round++) {
      const server = await Server.start(library, "http1");
      const warm = await keepAlive(server.port, 100);
      await warm.run(200);
      warm.close();
      await pause(settle);
      const before = await server.read("memory");
      const loads: Target[] = [];
      for (let opened = 0; opened < connections; opened += 500) {
        loads.push(await keepAlive(server.port, 500));
        await loads.at(-1)!.run(1);
      }
      await pause(settle);
      const after = await server.read("memory");
      await pause(2_000);
      idle.push(((await server.read("cpu")).cpu - after.cpu) / 2);
      heaps.push((after.heap - before.heap) / connections);
      for (const load of loads) load.close();
      await server.stop();
    }
    const heap = median(heaps);
    if (library === libraries[0]) bare = heap;
    row(library, `${heap.toFixed(0)} B`, `${(heap - bare).toFixed(0)} B`, `${median(idle).toFixed(0)} us/s`);
  }
}

const modes = ["keep-alive", "close", "http2"] as const;
const chosen = modes.find((known) => known === mode);
if (chosen) await perRequest(chosen);
else if (mode === "memory") await memory();
else {
  process.stderr.write(`${mode}: measure ${modes.join(", ")} or memory\n`);
  process.exitCode = 2;
}
