import { fork } from "node:child_process";
import { once } from "node:events";
import { parseArgs } from "node:util";

import { runClock } from "../src/model/clock.ts";
import { presets, startFleet, type SenderSpec } from "../src/senders/index.ts";

/**
 * How fast one generator is, alone against the cheapest server: `node packages/rollout/bench/generator.ts --rate 15000 --seconds 8 --runs 3
 * --pooled 1 --kind l4`. Prints one line a run, then min / median / max.
 */
const { values } = parseArgs({
  options: {
    rate: { type: "string", default: "15000" },
    seconds: { type: "string", default: "8" },
    runs: { type: "string", default: "3" },
    pooled: { type: "string", default: "1" },
    kind: { type: "string", default: "l4" },
    warmup: { type: "string", default: "3" },
  },
});

interface Figures {
  readonly rate: number;
  readonly lost: number;
  readonly lagP50: number;
  readonly lagP99: number;
  readonly latencyP50: number;
  readonly latencyP99: number;
}

const target = fork(new URL("target.ts", import.meta.url));
const [port] = (await once(target, "message")) as [number];
const all: Figures[] = [];
for (let run = 0; run < Number(values.runs); run++) {
  const figures = await measure(run);
  all.push(figures);
  print(JSON.stringify(figures));
}
for (const key of Object.keys(all[0] ?? {}) as (keyof Figures)[]) {
  const sorted = all.map((figures) => figures[key]).sort((a, b) => a - b);
  print(
    `${key}: ${sorted[0]} / ${sorted[Math.floor(sorted.length / 2)]} / ${sorted.at(-1)} (min / median / max)`,
  );
}
target.disconnect();

async function measure(seed: number): Promise<Figures> {
  const clock = runClock();
  const filled = Promise.withResolvers<void>();
  const fleet = await startFleet({
    clock,
    senders: [{ name: "bench", kind: values.kind as "l4" } satisfies SenderSpec],
    propagation: presets.instant,
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
  const { records, ended } = await fleet.stop();
  const counted = records.filter((record) => record.intended >= countedFrom);
  const sent = counted.filter((record) => record.sent !== undefined);
  const lags = sent.map((record) => (record.sent as number) - record.intended).sort((a, b) => a - b);
  const latencies = sent.map((record) => (record.finished as number) - record.intended).sort((a, b) => a - b);
  const quantile = (sorted: number[], share: number): number =>
    Number((sorted[Math.ceil(share * sorted.length) - 1] ?? 0).toFixed(2));
  return {
    rate: Math.round((sent.length / (ended - countedFrom)) * 1_000),
    lost: counted.filter((record) => record.outcome !== "ok").length,
    lagP50: quantile(lags, 0.5),
    lagP99: quantile(lags, 0.99),
    latencyP50: quantile(latencies, 0.5),
    latencyP99: quantile(latencies, 0.99),
  };
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
