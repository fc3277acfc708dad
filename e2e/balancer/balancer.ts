/**
 * A load balancer of connections that keeps the client's address, as a cloud's are. It asks each node's healthCheckNodePort, and sends a new
 * connection to one of the nodes that answered with 200, taken at random. A connection stays with its node. It is told what to do in
 * PLAN, runs in the machine where the clients are, and says which nodes it sends to whenever that has changed. Ends with its input.
 */
import { execFile } from "node:child_process";
import { get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { runClock } from "@lameduck/accounting";

export interface BalancerPlan {
  /** What clients call. */
  readonly address: string;
  readonly healthPort: number;
  readonly nodes: readonly { readonly name: string; readonly address: string }[];
  readonly intervalMs: number;
  /** So many equal answers in a row change what is thought of a node. */
  readonly threshold: number;
  readonly timeoutMs: number;
  /** Of the run's clock. */
  readonly origin: string;
}

export interface BalancerState {
  readonly at: number;
  /** Names of nodes. */
  readonly sendsTo: readonly string[];
}

const plan = JSON.parse(process.argv[2] ?? "") as BalancerPlan;
const clock = runClock(BigInt(plan.origin));
const run = promisify(execFile);
const healthy = new Set<number>();

/** The mark of a connection is its node's number; a route that the machine has for that mark leads there. */
const table = `table ip balancer {
  chain choose {}
  chain output {
    type route hook output priority mangle
    ip daddr ${plan.address} ct state new ct mark 0 jump choose
    ip daddr ${plan.address} meta mark set ct mark
  }
}`;

function choice(): string {
  const nodes = [...healthy].sort((a, b) => a - b);
  const map = nodes.map((number, index) => `${index} : ${number}`).join(", ");
  const rule = `add rule ip balancer choose ct mark set numgen random mod ${nodes.length} map { ${map} }`;
  return ["flush chain ip balancer choose", rule].join("\n");
}

async function nft(script: string): Promise<void> {
  const running = run("nft", ["-f", "-"]);
  running.child.stdin?.end(`${script}\n`);
  await running;
}

let applying = Promise.resolve();

/** Where no node is healthy all that it knew stay: balancers fail open. */
function apply(): Promise<void> {
  applying = applying.then(async () => {
    if (healthy.size === 0) return;
    const names = [...healthy].map((number) => plan.nodes[number - 1]?.name);
    await nft(choice());
    process.stdout.write(`${JSON.stringify({ at: clock.now(), sendsTo: names })}\n`);
  });
  return applying;
}

function answersWell(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const url = `http://${address}:${plan.healthPort}/healthz`;
    const signal = AbortSignal.timeout(plan.timeoutMs);
    get(url, { agent: false, signal }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    }).on("error", () => resolve(false));
  });
}

/** The first answer counts at once: a balancer that begins has no opinion. */
async function follow(number: number, address: string): Promise<void> {
  let opinion: boolean | undefined;
  let others = 0;
  for (;;) {
    const well = await answersWell(address);
    others = well === opinion ? 0 : others + 1;
    if (opinion === undefined || others >= plan.threshold) {
      opinion = well;
      others = 0;
      if (well) healthy.add(number);
      else healthy.delete(number);
      await apply();
    }
    await sleep(plan.intervalMs);
  }
}

process.stdin.on("end", () => process.exit(0)).resume();
await nft(table);
for (const [index, { address }] of plan.nodes.entries()) {
  // Nodes are not asked all at the same moment.
  void sleep(Math.random() * plan.intervalMs).then(() => follow(index + 1, address));
}
