/**
 * The kube-proxies of a large cluster, which report to one replica of the coordinator. Prints each second how many answers they have had.
 * Usage: consumers.ts PLAN; ends with its input.
 */
import { SimulatedConsumer, type ConsumerCounts } from "@lameduck/operator/simulated-consumer";
import { hollowNode } from "./objects.ts";

export interface ConsumersPlan {
  readonly host: string;
  readonly port: number;
  readonly count: number;
  readonly token: string;
  /** Each consumer's lag is drawn once, between these. */
  readonly lagMs: readonly [number, number];
}

const { count, lagMs, ...target } = JSON.parse(process.argv[2] ?? "") as ConsumersPlan;
const [least, most] = lagMs;
const counts: ConsumerCounts = { connected: 0, answers: 0, failures: 0 };

process.stdin.on("end", () => process.exit(0)).resume();
for (let index = 0; index < count; index++) {
  const lag = least + Math.random() * (most - least);
  new SimulatedConsumer({ ...target, node: hollowNode(index), lag: () => lag, counts }).open();
  // The listener's backlog is not what is measured.
  if (index % 100 === 99) await new Promise((resolve) => setTimeout(resolve, 50));
}
setInterval(() => process.stdout.write(`${JSON.stringify(counts)}\n`), 1_000);
