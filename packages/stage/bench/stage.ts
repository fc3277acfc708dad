import { fork } from "node:child_process";
import { once } from "node:events";

import { runClock } from "@lameduck/accounting";
import { propagationOf, type SenderSpec } from "@lameduck/load";
import { startFleet } from "../src/index.ts";
import { summary } from "../../load/bench/summary.ts";
import { commandLine } from "../../../scripts/command-line.ts";

/**
 * How much goes through all of it on this machine: generator, senders and ordinary Node servers together: `node
 * packages/stage/bench/stage.ts --rate 3000 --senders l4,l4,client,l7 --pods 4 --seconds 8 --runs 3`. Prints min / median / max.
 */
const { values } = commandLine(import.meta.url, {
  options: {
    rate: { type: "string", default: "3000" },
    senders: { type: "string", default: "l4,l4,client,l7" },
    pods: { type: "string", default: "4" },
    pooled: { type: "string", default: "0.5" },
    seconds: { type: "string", default: "8" },
    warmup: { type: "string", default: "3" },
    runs: { type: "string", default: "3" },
  },
});

const pods = Array.from({ length: Number(values.pods) }, () => fork(new URL("./pod.ts", import.meta.url)));
const ports = await Promise.all(pods.map(async (pod) => ((await once(pod, "message")) as [number])[0]));
const runs: Readonly<Record<string, number>>[] = [];
for (let run = 0; run < Number(values.runs); run++) runs.push(await measure(run));
process.stdout.write(summary(runs));
for (const pod of pods) pod.disconnect();

async function measure(seed: number): Promise<Readonly<Record<string, number>>> {
  const clock = runClock();
  const senders = values.senders
    .split(",")
    .map((kind, index) => ({ name: `${kind}-${index}`, kind }) as unknown as SenderSpec);
  const ready = Promise.withResolvers<void>();
  let added = 0;
  const fleet = await startFleet({
    clock,
    senders,
    propagation: propagationOf("instant"),
    load: { rate: Number(values.rate), pooledShare: Number(values.pooled) },
    seed,
    onEvent: (event) => {
      if (event.type === "added" && ++added === senders.length * ports.length) ready.resolve();
    },
  });
  for (const [index, port] of ports.entries())
    fleet.ready({ pod: `web-${index}`, address: "127.0.0.1", port }, clock.now());
  await ready.promise;
  const countedFrom = (await fleet.begin()) + Number(values.warmup) * 1_000;
  await new Promise((resolve) => {
    setTimeout(resolve, (Number(values.warmup) + Number(values.seconds)) * 1_000);
  });
  const { records, lateness } = await fleet.stop();
  const counted = records.filter((record) => record.intended >= countedFrom);
  const latencies = counted
    .map((record) => (record.finished ?? Infinity) - record.intended)
    .sort((a, b) => a - b);
  return {
    "requests/s": Math.round(counted.length / Number(values.seconds)),
    lost: counted.filter((record) => record.outcome !== "ok").length,
    "lateness p99, ms": lateness.p99,
    "latency p50, ms": latencies[Math.ceil(latencies.length / 2) - 1] ?? 0,
    "latency p99, ms": latencies[Math.ceil(0.99 * latencies.length) - 1] ?? 0,
  };
}
