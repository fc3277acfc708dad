import { fork } from "node:child_process";
import { once } from "node:events";

import { Client } from "undici";

import { Dialer } from "../src/protocols/dialer.ts";
import { LoadEngine } from "../src/generator/engine.ts";
import type { Exchange } from "../src/protocols/exchange.ts";
import { parseLoad } from "../src/index.ts";
import { lateness, RecordTable } from "../src/generator/records.ts";
import type { LoadSender, SenderContext } from "../src/senders/sender.ts";
import { random } from "@lameduck/accounting";
import { L4Sender } from "../src/senders/l4.ts";
import { summary } from "./summary.ts";
import { commandLine } from "../../../scripts/command-line.ts";

/**
 * Which client the generator should use: bare sockets (ours) against undici's Client, one connection each, the same engine, schedule and
 * server: `node packages/load/bench/clients.ts --rates 5000,10000,15000 --seconds 5 --runs 3`. Prints min / median / max of the lateness'
 * 99th percentile and of the CPU time a request takes, for pooled connections and for one connection a request.
 */
const { values } = commandLine(import.meta.url, {
  options: {
    rates: { type: "string", default: "5000,10000,15000" },
    fresh: { type: "string", default: "2000,3000" },
    seconds: { type: "string", default: "4" },
    runs: { type: "string", default: "3" },
  },
});

const now = (): number => performance.now();
const target = fork(new URL("./target.ts", import.meta.url));
const [port] = (await once(target, "message")) as [number];

/** A sender that hands each request to an idle undici Client, opening one where none is idle. */
class UndiciSender implements LoadSender {
  readonly #idle: Client[] = [];

  send(exchange: Exchange): void {
    const pooled = exchange.mode === "pooled";
    const client =
      (pooled ? this.#idle.pop() : undefined) ?? new Client(`http://127.0.0.1:${port}`, { pipelining: 1 });
    let status = 0;
    let bytes = 0;
    client.dispatch(
      { method: "GET", path: exchange.path, reset: !pooled },
      {
        onRequestStart: () => {
          exchange.record.sent = now();
        },
        onResponseStart: (_, code) => {
          status = code;
        },
        onResponseData: (_, chunk) => {
          bytes += chunk.length;
        },
        onResponseEnd: () => {
          if (pooled) this.#idle.push(client);
          else void client.close();
          exchange.answered({ status, body: bytes, text: "" } as never, now());
        },
        onResponseError: (_, error) => {
          exchange.fail({ outcome: "reset-before-response", error: error.message }, now());
        },
      },
    );
  }

  learn(): void {}

  stop(): void {
    for (const client of this.#idle) void client.destroy();
  }
}

function ours(): LoadSender {
  const dialer = new Dialer(now, parseLoad({ rate: 1 }));
  const context: SenderContext = {
    now,
    random: random(1),
    dial: dialer.from({ localAddress: undefined, named: false, sessionEnded: () => undefined }),
    shared: undefined,
    speaksHttp1: true,
    emit: () => undefined,
    spacing: 0,
  };
  const sender = new L4Sender(context, { cuts: false });
  const endpoint = { pod: "target", address: "127.0.0.1", port };
  sender.learn({
    sender: "bench",
    at: now(),
    state: { endpoint, serving: true, terminating: false, listed: true },
  });
  return sender;
}

async function measure(
  sender: LoadSender,
  rate: number,
  pooledShare: number,
  seed: number,
): Promise<Record<string, number>> {
  const table = new RecordTable();
  const seconds = Number(values.seconds);
  const engine = new LoadEngine({
    plan: parseLoad({ rate, pooledShare }),
    weights: [1],
    senders: [sender],
    table,
    seed,
    now,
  });
  await pause(100);
  engine.begin();
  // The first second warms up and is left out with the chunks it filled.
  await pause(1_000);
  const warm = Math.ceil(table.rows / 8_192);
  const [rows, cpu] = [table.rows, process.cpuUsage()];
  await pause(seconds * 1_000);
  const used = process.cpuUsage(cpu);
  const sent = table.rows - rows;
  await engine.stop();
  sender.stop();
  const late = lateness(table.chunks.slice(Math.min(warm, table.chunks.length - 1)));
  return {
    "requests/s": Math.round(sent / seconds),
    lost: engine.progress.lost + engine.progress.notSent,
    "lateness p99, ms": late[Math.ceil(0.99 * late.length) - 1] ?? 0,
    "CPU a request, us": (used.user + used.system) / sent,
  };
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}

const cases = [
  ...values.rates.split(",").map((rate) => ({ rate: Number(rate), pooled: 1 })),
  ...values.fresh.split(",").map((rate) => ({ rate: Number(rate), pooled: 0 })),
];
for (const { rate, pooled } of cases)
  for (const [name, start] of [
    ["bare sockets", ours],
    ["undici Client", () => new UndiciSender()],
  ] as const) {
    const runs: Record<string, number>[] = [];
    for (let run = 0; run < Number(values.runs); run++) runs.push(await measure(start(), rate, pooled, run));
    process.stdout.write(`${name}, ${pooled ? "pooled" : "new connections"}, ${rate}/s\n${summary(runs)}`);
  }
target.disconnect();
