/**
 * Runs beside the test cluster's API server, in a machine that owns every pod address: makes nodes and pods, starts one replica of
 * the coordinator and its consumers, and ends pods: at a steady rate, or many at once. Usage: drive.ts PLAN
 */
import { spawn, type ChildProcess } from "node:child_process";
import { loadavg } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { quantiles } from "@lameduck/accounting";
import { KubernetesClient } from "@lameduck/kube";
import { clusterConnection } from "@lameduck/kube/kubeconfig";
import type { ConsumerCounts } from "./simulated-consumer.ts";
import { until } from "../../cluster/index.ts";
import type { ConsumersPlan } from "./consumers.ts";
import { HollowCluster } from "./objects.ts";
import { Terminating } from "./terminating.ts";
import { ProcessUsage, type Usage } from "./usage.ts";

export interface DrivePlan {
  readonly kubeconfig: string;
  /** The coordinator's program. */
  readonly operator: string;
  /** As the chart gives it. */
  readonly environment: Readonly<Record<string, string>>;
  readonly nodes: number;
  readonly pods: number;
  readonly lagMs: readonly [number, number];
  readonly load: { readonly perMinute: number; readonly minutes: number } | { readonly atOnce: number };
}

const { load, ...plan } = JSON.parse(process.argv[2] ?? "") as DrivePlan;
const say = (line: string): void => void process.stderr.write(`${line}\n`);
const address = { host: "127.0.0.1", port: 8070 };
const children: ChildProcess[] = [];
const api = new KubernetesClient(clusterConnection({ kubeconfig: plan.kubeconfig }));
const ended = Promise.withResolvers<never>();

function start(
  args: readonly string[],
  output: "pipe" | "inherit",
  environment: Readonly<Record<string, string>> = {},
): ChildProcess {
  const env = { ...process.env, ...environment };
  const child = spawn(process.execPath, args, { env, stdio: ["pipe", output, "inherit"] });
  children.push(child);
  child.on("exit", (code) => ended.reject(new Error(`${args[0]} ended with ${code}`)));
  return child;
}

async function startCoordinator(): Promise<ProcessUsage> {
  const flags = ["--kubeconfig", plan.kubeconfig, "--namespace", "lameduck-system", "--log-level", "warn"];
  const { pid } = start([plan.operator, "coordinator", ...flags], "inherit", plan.environment);
  const isReady = async (): Promise<boolean> => (await fetch("http://127.0.0.1:9090/readyz")).ok;
  await until(isReady, { what: "coordinator ready", timeoutMs: 120_000 });
  return new ProcessUsage(pid ?? 0);
}

async function startConsumers(): Promise<() => ConsumerCounts> {
  const { nodes: count, kubeconfig, lagMs } = plan;
  const own: ConsumersPlan = { ...address, count, kubeconfig, lagMs };
  const child = start([join(import.meta.dirname, "consumers.ts"), JSON.stringify(own)], "pipe");
  let counts = { connected: 0, answers: 0, failures: 0 };
  createInterface({ input: child.stdout! }).on("line", (line) => {
    counts = JSON.parse(line) as ConsumerCounts;
  });
  await until(() => Promise.resolve(counts.connected >= count), {
    what: `${count} consumers that report`,
    timeoutMs: 180_000,
  });
  return () => counts;
}

const text = ({ cores, resident }: Usage): string =>
  `coordinator: ${cores.toFixed(2)} cores, ${(resident / 1e6).toFixed(0)} MB`;

/** Ends pods and reads every second what it costs, until the last has ended. */
async function drive(terminating: Terminating, usage: ProcessUsage, answers: () => number): Promise<object> {
  const each: number[] = [];
  let resident = 0;
  let before = answers();
  const begun = performance.now();
  const answersBefore = before;
  const over = new AbortController();
  const read = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await sleep(1_000);
      const now = await usage.read();
      each.push(now.cores);
      resident = Math.max(resident, now.resident);
      say(`${text(now)}; ${answers() - before} answers, ${terminating.underWay} pods terminate`);
      before = answers();
    }
  };
  const reading = read();
  const withdrawnMs =
    "atOnce" in load ? await terminating.endAtOnce(load.atOnce) : await endSteadily(terminating, load);
  const outcome = await terminating.ended();
  const seconds = (performance.now() - begun) / 1_000;
  over.abort();
  await reading;
  if (outcome.released < outcome.terminations) process.exitCode = 1;
  return {
    ...outcome,
    ...("atOnce" in load ? { withdrawnMs } : {}),
    seconds,
    coresEachSecond: quantiles(each),
    coresOnAverage: each.reduce((a, b) => a + b, 0) / each.length,
    mostResidentBytes: resident,
    peakResidentBytes: (await usage.read()).peak,
    answersPerSecond: (answers() - answersBefore) / seconds,
    loadOfMachine: loadavg()[0],
  };
}

async function endSteadily(
  terminating: Terminating,
  { perMinute, minutes }: { readonly perMinute: number; readonly minutes: number },
): Promise<void> {
  let due = performance.now();
  const end = due + minutes * 60_000;
  while (performance.now() < end) {
    for (; due <= performance.now(); due += 60_000 / perMinute) terminating.endOne();
    await sleep(10);
  }
}

async function main(): Promise<void> {
  const cluster = new HollowCluster(api, plan.nodes);
  say(`making ${plan.nodes} nodes and ${plan.pods} pods`);
  await cluster.make(plan.pods);
  const usage = await startCoordinator();
  const counts = await startConsumers();
  await usage.read();
  await sleep(10_000);
  const idle = await usage.read();
  say(`${text(idle)}; nothing terminates`);
  const terminating = new Terminating(cluster, `http://${address.host}:${address.port}`);
  const busy = await drive(terminating, usage, () => counts().answers);
  const { nodes, pods, lagMs } = plan;
  const result = { nodes, pods, lagMs, ...load, idle, ...busy, failuresOfConsumers: counts().failures };
  process.stdout.write(`${JSON.stringify(result, undefined, 1)}\n`);
}

try {
  await Promise.race([main(), ended.promise]);
} catch (error) {
  say(String(error));
  process.exitCode = 3;
} finally {
  for (const child of children) child.kill("SIGKILL");
  api.close();
}
