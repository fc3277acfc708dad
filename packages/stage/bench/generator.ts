import { fork } from "node:child_process";
import { once } from "node:events";

import { runClock } from "@lameduck/accounting";
import { propagationOf, type SenderSpec } from "@lameduck/load";
import { startFleet } from "../src/index.ts";
import { summary } from "../../load/bench/summary.ts";
import { commandLine } from "../../../scripts/command-line.ts";

/**
 * How fast one generator is, alone against the cheapest server: `node packages/stage/bench/generator.ts --rate 15000 --seconds 8 --runs 3
 * --pooled 1 --kind l4`. Prints one line a run, then min / median / max.
 */
const { values } = commandLine(import.meta.url, {
  options: {
    rate: { type: "string", default: "15000" },
    seconds: { type: "string", default: "8" },
    runs: { type: "string", default: "3" },
    pooled: { type: "string", default: "1" },
    kind: { type: "string", default: "l4" },
    warmup: { type: "string", default: "3" },
  },
});

type Figures = Readonly<Record<string, number>>;

const target = fork(new URL("../../load/bench/target.ts", import.meta.url));
const [port] = (await once(target, "message")) as [number];
const all: Figures[] = [];
for (let run = 0; run < Number(values.runs); run++) {
  const figures = await measure(run);
  all.push(figures);
  print(JSON.stringify(figures));
}
print(`min / median / max\n${summary(all)}`);
target.disconnect();

async function measure(seed: number): Promise<Figures> {
  const clock = runClock();
  const filled = Promise.withResolvers<void>();
  const fleet = await startFleet({
    clock,
    senders: [{ name: "bench", kind: values.kind as "l4" } satisfies SenderSpec],
    propagation: propagationOf("instant"),
    load: { rate: Number(values.rate), pooledShare: Number(values.pooled) },
    seed,
    onEvent: (event) => event.type === "filled" && filled.resolve(),
  });
  fleet.ready({ pod: "target", address: "127.0.0.1", port }, clock.now());
  await filled.promise;
  const began = await fleet.begin();
  const countedFrom = began + Number(values.warmup) * 1_000;
  await new Promise((resolve) => {
    setTimeout(resolve, (Number(values.warmup) + Number(values.seconds)) * 1_000);
  });
  const { records, lateness } = await fleet.stop();
  const counted = records.filter((record) => record.intended >= countedFrom);
  const sent = counted.filter((record) => record.sent !== undefined);
  const lags = sent.map((record) => (record.sent as number) - record.intended).sort((a, b) => a - b);
  const latencies = sent.map((record) => (record.finished as number) - record.intended).sort((a, b) => a - b);
  const quantile = (sorted: number[], share: number): number =>
    Number((sorted[Math.ceil(share * sorted.length) - 1] ?? 0).toFixed(2));
  return {
    "requests/s": Math.round(sent.length / Number(values.seconds)),
    lost: counted.filter((record) => record.outcome !== "ok").length,
    // Over the whole run: how late the generator turned to a request; then, without the warm-up, until it was written and answered.
    "lateness p99, ms": lateness.p99,
    "sent p99, ms": quantile(lags, 0.99),
    "latency p50, ms": quantile(latencies, 0.5),
    "latency p99, ms": quantile(latencies, 0.99),
  };
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
