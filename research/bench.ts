import { availableParallelism } from "node:os";
import { Drain, parseConfig } from "@lameduck/drain";
import { Random } from "../packages/simulator/src/kernel/random.ts";
import { Simulation } from "../packages/simulator/src/kernel/simulation.ts";
import { runInParallel } from "../packages/simulator/src/parallel/run.ts";
import { drained } from "../packages/simulator/src/policies/drained.ts";
import { run } from "../packages/simulator/src/run.ts";
import { scenarioFrom } from "../packages/simulator/src/scenario/parse.ts";

/**
 * Measures the simulator's kernel, a large cluster and one decision on this machine. Processor time is printed beside wall-clock time, because
 * other programs stretch wall-clock time.
 */
const say = (line: string): boolean => process.stdout.write(`${line}\n`);

interface Cost {
  readonly seconds: number;
  readonly processorSeconds: number;
}

async function costOf(work: () => void | Promise<void>): Promise<Cost> {
  const started = performance.now();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return { seconds: (performance.now() - started) / 1_000, processorSeconds: (user + system) / 1e6 };
}

for (const pending of [100, 10_000]) {
  const simulation = new Simulation();
  const random = new Random("bench");
  let left = 4_000_000;
  const again = (): void => {
    if (left-- > 0) simulation.after(random.exponential(100), again);
  };
  for (let index = 0; index < pending; index++) simulation.after(random.exponential(100), again);
  const { seconds, processorSeconds } = await costOf(() => simulation.run());
  const millions = (per: number): string => (simulation.processed / per / 1e6).toFixed(1);
  say(
    `kernel, ${pending} events pending: ${millions(processorSeconds)} million events in a second of processor time, ${millions(seconds)} in one by the clock`,
  );
}

const { scenario } = scenarioFrom({
  name: "large",
  replicas: 1_000,
  terminations: 1_000,
  senders: [{ preset: "idle-kube-proxy", count: 5_000 }],
  traffic: { total: 20_000 },
});
const quiet = [drained("sleep", { policy: "fixed", delay: "5s" }), drained("quiet", { policy: "quiet" })];
const adaptive = [drained("adaptive", {})];
for (const [name, play] of [
  ["sleep 5 and quiet 5", () => run(scenario, quiet, { seed: 1 })],
  ["adaptive", () => run(scenario, adaptive, { seed: 1 })],
  [`adaptive, on ${availableParallelism()} processors`, () => runInParallel(scenario, adaptive, { seed: 1 })],
] as const) {
  let arrivals = 0;
  const { seconds, processorSeconds } = await costOf(async () => {
    ({ arrivals } = await play());
  });
  say(
    `5,000 nodes, 1,000 terminations, 20,000 req/s, ${name}: ${processorSeconds.toFixed(1)} s of processor time, ${seconds.toFixed(1)} s by the clock, ${(process.memoryUsage().rss / 2 ** 20).toFixed(0)} MiB, ${arrivals} arrivals`,
  );
}

for (const senders of [10, 200, 1_024]) {
  const drain = new Drain(parseConfig({ floor: 0 }));
  for (let index = 0; index < senders * 20; index++)
    drain.observe({
      type: "arrival",
      at: index * (10_000 / senders),
      sender: `s${index % senders}`,
      kind: "connection",
    });
  const now = senders * 20 * (10_000 / senders);
  drain.observe({ type: "termination", at: now });
  drain.decide(now + 1);
  const rounds = Math.ceil(2_000 / senders);
  const started = performance.now();
  for (let round = 0; round < rounds; round++) drain.decide(now + 1 + round / 10);
  say(`one decision with ${senders} senders: ${((performance.now() - started) / rounds).toFixed(2)} ms`);
}
