/**
 * Runs beside the test cluster's API server, in a machine that owns every pod address: makes nodes and pods, starts one replica of
 * the coordinator and its consumers, and ends pods at a steady rate. Usage: drive.ts PLAN
 */
import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { quantiles } from "@lameduck/accounting";
import { clusterConnection, KubernetesClient } from "@lameduck/kube";
import type { ConsumerCounts } from "@lameduck/operator/simulated-consumer";
import { askUntilReleased } from "./asking.ts";
import type { ConsumersPlan } from "./consumers.ts";
import { HollowCluster, type HollowPod } from "./objects.ts";
import { ProcessUsage, type Usage } from "./usage.ts";

export interface DrivePlan {
  readonly kubeconfig: string;
  /** The coordinator's program. */
  readonly operator: string;
  /** As the chart gives it. */
  readonly environment: Readonly<Record<string, string>>;
  readonly token: string;
  readonly nodes: number;
  readonly pods: number;
  readonly perMinute: number;
  readonly minutes: number;
  readonly lagMs: readonly [number, number];
}

const plan = JSON.parse(process.argv[2] ?? "") as DrivePlan;
const say = (line: string): void => void process.stderr.write(`${line}\n`);
const address = { host: "127.0.0.1", port: 8070 };
const coordinator = `http://${address.host}:${address.port}`;
const children: ChildProcess[] = [];
const api = new KubernetesClient(clusterConnection({ kubeconfig: plan.kubeconfig }));
const released: number[] = [];
const outcomes: Record<string, number> = {};
const count = (outcome: string): void => void (outcomes[outcome] = (outcomes[outcome] ?? 0) + 1);

function start(
  args: readonly string[],
  output: "pipe" | "inherit",
  environment: Readonly<Record<string, string>> = {},
): ChildProcess {
  const env = { ...process.env, ...environment };
  const child = spawn(process.execPath, args, { env, stdio: ["pipe", output, "inherit"] });
  children.push(child);
  child.on("exit", (code) => say(`${args[0]} ended with ${code}`));
  return child;
}

async function isUp(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function startCoordinator(): Promise<ChildProcess> {
  const flags = ["--kubeconfig", plan.kubeconfig, "--namespace", "lameduck-system", "--log-level", "warn"];
  const child = start([plan.operator, "coordinator", ...flags], "inherit", plan.environment);
  while (!(await isUp("http://127.0.0.1:9090/readyz"))) await sleep(200);
  return child;
}

function startConsumers(): { counts: ConsumerCounts } {
  const own: ConsumersPlan = { ...address, count: plan.nodes, token: plan.token, lagMs: plan.lagMs };
  const child = start([join(import.meta.dirname, "consumers.ts"), JSON.stringify(own)], "pipe");
  const state = { counts: { connected: 0, answers: 0, failures: 0 } };
  createInterface({ input: child.stdout! }).on("line", (line) => {
    state.counts = JSON.parse(line) as ConsumerCounts;
  });
  return state;
}

/** One step of a rollout: a new pod is made, and an old one ends when it is released. */
async function terminate(cluster: HollowCluster): Promise<void> {
  const [pod] = cluster.pods.splice(Math.floor(Math.random() * cluster.pods.length), 1) as [HollowPod];
  cluster.pods.push(await cluster.makePod(pod.service));
  await cluster.delete(pod);
  await cluster.withdraw(pod);
  const withdrawnAt = performance.now();
  const signal = AbortSignal.timeout(50_000);
  try {
    count(await askUntilReleased({ coordinator, namespace: "hollow", pod, signal }));
    released.push(performance.now() - withdrawnAt);
  } catch (error) {
    count(String(error).slice(0, 80));
  }
  await cluster.end(pod);
}

function line(usage: Usage, extra: string): string {
  return `coordinator: ${usage.cores.toFixed(2)} cores, ${(usage.resident / 1e6).toFixed(0)} MB; ${extra}`;
}

async function main(): Promise<void> {
  const cluster = new HollowCluster(api, plan.nodes);
  say(`making ${plan.nodes} nodes and ${plan.pods} pods`);
  await cluster.make(plan.pods);
  const process_ = await startCoordinator();
  const usage = new ProcessUsage(process_.pid ?? 0);
  await usage.read();
  const consumers = startConsumers();
  while (consumers.counts.connected < plan.nodes) await sleep(500);
  await usage.read();
  await sleep(10_000);
  say(line(await usage.read(), "nothing terminates"));
  const end = performance.now() + plan.minutes * 60_000;
  const underWay = new Set<Promise<void>>();
  const most = { cores: 0, resident: 0 };
  const each: number[] = [];
  let due = performance.now();
  let tell = due + 10_000;
  let before = consumers.counts.answers;
  while (performance.now() < end) {
    while (due <= performance.now()) {
      const one = terminate(cluster).catch((error: unknown) => count(String(error).slice(0, 80)));
      underWay.add(one);
      void one.finally(() => underWay.delete(one));
      due += 60_000 / plan.perMinute;
    }
    if (performance.now() >= tell) {
      const now = await usage.read();
      each.push(now.cores);
      most.cores = Math.max(most.cores, now.cores);
      most.resident = Math.max(most.resident, now.resident);
      const { answers } = consumers.counts;
      say(line(now, `${(answers - before) / 10} answers/s, ${underWay.size} pods terminate`));
      before = answers;
      tell += 10_000;
    }
    await sleep(10);
  }
  await Promise.all(underWay);
  const result = {
    plan: { ...plan, token: undefined, kubeconfig: undefined, operator: undefined },
    outcomes,
    /** From the EndpointSlice's write to the answer that the pod is released, milliseconds. */
    releasedAfter: quantiles(released),
    cores: quantiles(each),
    mostResident: most.resident,
    failures: consumers.counts.failures,
  };
  process.stdout.write(`${JSON.stringify(result, undefined, 1)}\n`);
  process.stdout.write(
    `coordinator: ${most.cores.toFixed(2)} cores and ${(most.resident / 1e6).toFixed(0)} MB at most, ` +
      `${each.length === 0 ? 0 : (each.reduce((a, b) => a + b) / each.length).toFixed(2)} cores on average\n`,
  );
}

try {
  await main();
} finally {
  for (const child of children) child.kill("SIGKILL");
  api.close();
}
