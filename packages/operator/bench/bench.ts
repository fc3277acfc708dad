/**
 * `npm run bench -w packages/operator -- [RUNS]`: reviews per second of processor time, and how long a review takes at 500 a second in open loop, beside
 * a handler that only admits. The two take turns; minimum, median and maximum over the runs.
 */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const runs = Number(process.argv[2] ?? "5");
const seconds = 3;
const rate = 500;
const connections = 16;

const body = JSON.stringify({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  request: {
    uid: "705ab4f5-6393-11e8-b7cc-42010a800002",
    kind: { group: "", version: "v1", kind: "Pod" },
    resource: { group: "", version: "v1", resource: "pods" },
    operation: "CREATE",
    namespace: "shop",
    userInfo: {
      username: "system:serviceaccount:kube-system:replicaset-controller",
      groups: ["system:authenticated"],
    },
    object: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        generateName: "web-7d4b9c6f5-",
        labels: { app: "web", tier: "front", "pod-template-hash": "7d4b9c6f5" },
        annotations: { "prometheus.io/scrape": "true" },
        ownerReferences: [
          { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-7d4b9c6f5", uid: "u", controller: true },
        ],
        managedFields: [
          {
            manager: "kube-controller-manager",
            fieldsV1: { "f:metadata": { "f:labels": "x".repeat(1_500) } },
          },
        ],
      },
      spec: {
        terminationGracePeriodSeconds: 30,
        containers: ["web", "metrics"].map((name, index) => ({
          name,
          image: `registry.example/${name}:1.2.3`,
          ports: [{ containerPort: 8080 + index, protocol: "TCP" }],
          env: Array.from({ length: 10 }, (_, number) => ({
            name: `SETTING_${number}`,
            value: "some value",
          })),
          resources: { requests: { cpu: "100m", memory: "128Mi" } },
          volumeMounts: [
            { name: "token", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount", readOnly: true },
          ],
          readinessProbe: { httpGet: { path: "/", port: 8080 } },
        })),
        volumes: [{ name: "token", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } }],
      },
    },
  },
});

interface Used {
  readonly cpu: NodeJS.CpuUsage;
  readonly rss: number;
}

interface Figures {
  readonly perCore: number;
  readonly p50: number;
  readonly p99: number;
  readonly rss: number;
}

async function measure(which: "ours" | "least"): Promise<Figures> {
  const child = fork(join(import.meta.dirname, "server.ts"), [which]);
  const [{ port, ca }] = (await once(child, "message")) as [{ port: number; ca: string }];
  const agent = new Agent({ keepAlive: true, maxSockets: connections, ca, servername: "localhost" });
  const ask = (): Promise<void> => review(port, agent);
  try {
    // The first thousands of reviews run before V8 has compiled the code.
    await closedLoop(ask, 2);
    const before = await usedBy(child);
    const count = await closedLoop(ask, seconds);
    const after = await usedBy(child);
    const cpu = (after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system) / 1e6;
    const times = (await openLoop(ask)).sort((a, b) => a - b);
    const at = (share: number): number => times[Math.floor(times.length * share)] ?? NaN;
    return { perCore: count / cpu, p50: at(0.5), p99: at(0.99), rss: (await usedBy(child)).rss / 2 ** 20 };
  } finally {
    agent.destroy();
    child.kill();
    await once(child, "close");
  }
}

function review(port: number, agent: Agent): Promise<void> {
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: "127.0.0.1", port, path: "/mutate?timeout=2s", method: "POST", agent, headers },
      (response) => response.resume().on("end", resolve),
    );
    sent.on("error", reject);
    sent.end(body);
  });
}

async function usedBy(child: ChildProcess): Promise<Used> {
  child.send("usage");
  const [used] = (await once(child, "message")) as [Used];
  return used;
}

async function closedLoop(ask: () => Promise<void>, forSeconds: number): Promise<number> {
  const end = performance.now() + forSeconds * 1_000;
  let count = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (; performance.now() < end; count++) await ask();
    }),
  );
  return count;
}

/** Milliseconds from the time at which each review was due, so that a stall counts for all reviews that it delays. */
async function openLoop(ask: () => Promise<void>): Promise<number[]> {
  const began = performance.now();
  const times: number[] = [];
  const under: Promise<void>[] = [];
  for (let index = 0; index < rate * seconds; index++) {
    const due = began + (index * 1_000) / rate;
    const wait = due - performance.now();
    if (wait > 0) await delay(wait);
    under.push(ask().then(() => void times.push(performance.now() - due)));
  }
  await Promise.all(under);
  return times;
}

function spread(values: readonly number[], digits: number): string {
  const sorted = [...values].sort((a, b) => a - b);
  const shown = [0, 0.5, 1].map((share) =>
    (sorted[Math.round(share * (sorted.length - 1))] ?? NaN).toFixed(digits),
  );
  return shown.join(" / ");
}

const [ours, least]: [Figures[], Figures[]] = [[], []];
for (let run = 0; run < runs; run++) {
  ours.push(await measure("ours"));
  least.push(await measure("least"));
}
const row = (name: string, of: (figures: Figures) => number, digits: number): string =>
  `${name.padEnd(34)} ${spread(ours.map(of), digits).padEnd(24)} ${spread(least.map(of), digits)}`;
process.stdout.write(
  [
    `${runs} runs, a review of ${Buffer.byteLength(body)} bytes; minimum / median / maximum`,
    `${"".padEnd(34)} ${"the operator".padEnd(24)} a handler that admits`,
    row("reviews per second of a core", ({ perCore }) => perCore, 0),
    row(`p50 at ${rate}/s, ms`, ({ p50 }) => p50, 2),
    row(`p99 at ${rate}/s, ms`, ({ p99 }) => p99, 2),
    row("memory, MiB", ({ rss }) => rss, 0),
    `operator / handler, reviews: ${spread(
      ours.map(({ perCore }, index) => perCore / (least[index]?.perCore ?? NaN)),
      2,
    )}`,
    "",
  ].join("\n"),
);
