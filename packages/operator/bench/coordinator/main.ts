/**
 * What one replica of the coordinator costs, over real HTTP, with a fake API server that feeds it:
 *
 *     npm run bench:coordinator -w packages/operator -- --consumers 5000 --pods 10000 --per-minute 1000 --seconds 60
 *
 * Prints processor time and memory of its process alone, and how long after its withdrawal each pod is released.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { CoordinatorApi } from "../../../coordinator/test/fixture.ts";
import { chartEnvironment } from "../chart-environment.ts";
import { writeOperator } from "../operator-program.ts";
import { SimulatedConsumer } from "./simulated-consumer.ts";

const { values } = parseArgs({
  options: {
    consumers: { type: "string", default: "5000" },
    pods: { type: "string", default: "10000" },
    "per-minute": { type: "string", default: "1000" },
    seconds: { type: "string", default: "60" },
  },
});
const [consumers, pods, perMinute, seconds] = [
  Number(values.consumers),
  Number(values.pods),
  Number(values["per-minute"]),
  Number(values.seconds),
];
/** Pods in one EndpointSlice, as the controller fills them. */
const sliceSize = 100;
const slices = "discovery.k8s.io/endpointslices";
/** Milliseconds that a consumer takes to apply: half a second in the median, up to three. */
const lag = (): number => Math.min(3_000, 200 + -Math.log(1 - Math.random()) * 450);

const api = await CoordinatorApi.start();
const state = new Map<number, { ready: boolean; terminating: boolean }>();

function writeSlice(slice: number): void {
  const endpoints = Array.from({ length: sliceSize }, (_, at) => slice * sliceSize + at).flatMap((pod) => {
    const conditions = state.get(pod);
    return conditions ? [{ conditions, targetRef: { kind: "Pod", uid: `pod-${pod}` } }] : [];
  });
  const labels = { "kubernetes.io/service-name": `s${slice}` };
  api.put(slices, `s${slice}`, { metadata: { namespace: "shop", uid: `slice-${slice}`, labels }, endpoints });
}

/** What nobody reads and every pod has: some 4 KB. */
const managedFields = Array.from({ length: 40 }, (_, at) => ({
  manager: "kubelet",
  operation: "Update",
  fieldsV1: { [`f:field-${at}`]: { "f:conditions": { ".": {} } } },
}));

const pod = (at: number, isDeleted: boolean): Record<string, object> => ({
  metadata: {
    namespace: "shop",
    uid: `pod-${at}`,
    managedFields,
    labels: { app: `s${Math.floor(at / sliceSize)}` },
    ...(isDeleted
      ? { deletionTimestamp: new Date(Date.now() + 30_000).toISOString(), deletionGracePeriodSeconds: 30 }
      : {}),
  },
  spec: { nodeName: `node${at % consumers}`, containers: [{ name: "app", image: "app:1" }] },
  status: { phase: "Running", podIPs: [{ ip: `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}` }] },
});

for (let at = 0; at < consumers; at++) {
  const conditions = [{ type: "Ready", status: "True" }];
  api.put("nodes", `node${at}`, { metadata: { uid: `node-${at}` }, status: { conditions } });
  api.tokens.set(`token-node${at}`, { account: "lameduck-node:lameduck-watcher", node: `node${at}` });
}
for (let at = 0; at < pods; at++) {
  state.set(at, { ready: true, terminating: false });
  api.put("pods", `pod-${at}`, pod(at, false));
}
for (let slice = 0; slice < pods / sliceSize; slice++) {
  api.put("services", `s${slice}`, { metadata: { namespace: "shop" }, spec: { clusterIP: "10.96.0.1" } });
  writeSlice(slice);
}

const folder = await mkdtemp(join(tmpdir(), "lameduck-bench-"));
const kubeconfig = join(folder, "kubeconfig");
await writeFile(
  kubeconfig,
  JSON.stringify({
    "current-context": "a",
    contexts: [{ name: "a", context: { cluster: "c", namespace: "lameduck-system" } }],
    clusters: [{ name: "c", cluster: { server: api.url } }],
  }),
);
const main = await writeOperator(folder);
const flags = ["--port=0", "--metrics-port=0", "--address=127.0.0.1", `--kubeconfig=${kubeconfig}`];
const child = spawn(process.execPath, [main, "coordinator", ...flags], {
  stdio: ["ignore", "ignore", "pipe"],
  env: { ...process.env, ...chartEnvironment("coordinator") },
});
let log = "";
child.stderr.setEncoding("utf8").on("data", (text: string) => (log += text));
while (!log.includes('"listening"')) await delay(50);
const line = log.split("\n").find((one) => one.includes('"listening"')) ?? "";
const { port, metricsPort } = JSON.parse(line) as { port: number; metricsPort: number };

/** Seconds of processor time, and MiB: now, and at most so far. */
function usage(): { readonly cpu: number; readonly rss: number; readonly peak: number } {
  const stat = readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
  const kibibytes = (key: string): number =>
    Number(new RegExp(`${key}:\\s+(\\d+)`).exec(status)?.[1]) / 1_024;
  return {
    cpu: (Number(stat[11]) + Number(stat[12])) / 100,
    rss: kibibytes("VmRSS"),
    peak: kibibytes("VmHWM"),
  };
}

const metrics = (): Promise<string> =>
  fetch(`http://127.0.0.1:${metricsPort}/metrics`).then((answer) => answer.text());
const numberIn = (text: string, name: string): number =>
  Number(new RegExp(`^${name.replaceAll(/[{}]/g, "\\$&")} (\\S+)$`, "m").exec(text)?.[1] ?? 0);

const counts = { connected: 0, answers: 0, failures: 0 };
const all: SimulatedConsumer[] = [];
for (let at = 0; at < consumers; at++) {
  const node = `node${at}`;
  const one = new SimulatedConsumer({ host: "127.0.0.1", port, node, token: `token-${node}`, lag, counts });
  one.open();
  all.push(one);
  if (at % 100 === 99) await delay(50);
}
const begun = Date.now();
while (numberIn(await metrics(), 'lameduck_consumers{state="reporting"}') < consumers) {
  if (Date.now() - begun > 120_000) throw new Error("not all consumers report");
  await delay(500);
}
const idleFrom = usage();
await delay(10_000);
const idle = usage();
process.stdout.write(
  `idle: ${consumers} consumers, ${pods} pods: ${((idle.cpu - idleFrom.cpu) / 10).toFixed(3)} cores, RSS ${idle.rss.toFixed(0)} MiB\n`,
);

const answersBefore = counts.answers;
const start = Date.now();
const before = usage();
let next = 0;
while (Date.now() - start < seconds * 1_000) {
  const due = Math.floor(((Date.now() - start) / 60_000) * perMinute);
  for (; next < due && next < pods; next++) {
    // Of one Service after the other: where all pods of one terminate, proxies choose them again.
    const at = (next * (sliceSize + 1)) % pods;
    api.change("pods", `pod-${at}`, pod(at, true));
    state.set(at, { ready: false, terminating: true });
    writeSlice(Math.floor(at / sliceSize));
    // It ends 30 s later, as the longest hold would have it.
    setTimeout(() => {
      state.delete(at);
      api.remove("pods", `pod-${at}`);
    }, 30_000).unref();
  }
  await delay(20);
}
const busy = usage();
const took = (Date.now() - start) / 1_000;
const text = await metrics();
const answers = counts.answers - answersBefore;
const released = numberIn(text, "lameduck_release_seconds_count");
const buckets = [...text.matchAll(/^lameduck_release_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm)].map(
  ([, bound = "", count]) => [bound, Number(count)] as const,
);
const quantile = (share: number): string =>
  buckets.find(([, count]) => count >= share * released)?.[0] ?? "?";
process.stdout.write(
  `${next} terminations in ${took.toFixed(0)} s: ${((busy.cpu - before.cpu) / took).toFixed(2)} cores, RSS ${busy.rss.toFixed(0)} MiB, ${busy.peak.toFixed(0)} at most; ${Math.round(answers / took)} answers/s\n` +
    `${released} released; withdrawal to release: half within ${quantile(0.5)} s, 90 % within ${quantile(0.9)} s, all within ${quantile(1)} s\n`,
);
for (const one of all) one.close();
child.kill("SIGKILL");
await once(child, "close");
await api.stop();
await rm(folder, { recursive: true });
process.exit(0);
