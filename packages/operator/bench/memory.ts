/**
 * `npm run bench:memory -w packages/operator -- [SECONDS]`, as root: the webhook's process within the memory that the chart gives it, which a cgroup
 * enforces. One namespace has more of every kind than is kept, and is audited every 5 s; 500 reviews come in a second, two of them of 3 MB. Ends with 1 where it was killed.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parse } from "yaml";
import { bundles, configurations, OperatorApi, until } from "../../cluster/test/operator-api.ts";

const seconds = Number(process.argv[2] ?? "60");
const rate = 500;
/** One in so many reviews is large. */
const largeEvery = 250;
const mebibyte = 2 ** 20;

const chart = join(import.meta.dirname, "..", "chart", "lameduck", "values.yaml");
const { memory, resources } = parse(readFileSync(chart, "utf8")) as {
  memory: Record<string, string>;
  resources: { limits: { memory: string } };
};
const limit = Number.parseInt(resources.limits.memory, 10) * mebibyte;

const count = <T>(length: number, each: (index: number) => T): T[] =>
  Array.from({ length }, (_, index) => each(index));
/** Distinct, and as short as can be: what takes the most memory for its characters. */
const short = (number: number): string => number.toString(36);

function fill(api: OperatorApi): void {
  const metadata = { namespace: "h" };
  const kinds = ["httproutes", "grpcroutes", "tlsroutes", "tcproutes", "udproutes"];
  for (let index = 0; index < 300; index++) {
    const named = (kind: number): { name: string }[] =>
      count(1_000, (ref) => ({ name: short(kind * 300_000 + index * 1_000 + ref) }));
    for (const [number, kind] of kinds.entries()) {
      const rules = [{ backendRefs: named(number) }];
      api.put(`gateway.networking.k8s.io/${kind}`, `r${index}`, { metadata, spec: { rules } });
    }
    const paths = named(kinds.length).map((service) => ({ backend: { service } }));
    api.put("networking.k8s.io/ingresses", `i${index}`, { metadata, spec: { rules: [{ http: { paths } }] } });
  }
  for (let index = 0; index < 6_000; index++) {
    const selector = Object.fromEntries(count(30, (label) => [short(index * 30 + label), ""]));
    api.put("services", `s${index}`, { metadata, spec: { selector } });
  }
  // Each of them lists what is in its namespace: the audit reads all of it again and again.
  const env = count(1_000, (index) => ({ name: short(index), value: "x".repeat(100) }));
  for (let index = 0; index < 500; index++) {
    const template = {
      metadata: { labels: { app: short(index) } },
      spec: { containers: [{ name: "a", image: "a", env }] },
    };
    api.put("apps/deployments", `d${index}`, { metadata, spec: { template } });
    api.put("pods", `p${index}`, { metadata, spec: template.spec });
  }
  for (let index = 0; index < 3_000; index++) {
    const from = count(16, (of) => ({ kind: "HTTPRoute", namespace: short(index * 16 + of) }));
    const to = count(16, (of) => ({ kind: "Service", name: short(of) }));
    api.put("gateway.networking.k8s.io/referencegrants", `g${index}`, { metadata, spec: { from, to } });
  }
}

/** A cgroup of either version. */
class MemoryLimit implements Disposable {
  readonly #isSecond = existsSync("/sys/fs/cgroup/cgroup.controllers");
  readonly #path = `/sys/fs/cgroup/${this.#isSecond ? "" : "memory/"}lameduck-bench-${process.pid}`;

  constructor(bytes: number) {
    mkdirSync(this.#path);
    writeFileSync(this.file(this.#isSecond ? "memory.max" : "memory.limit_in_bytes"), String(bytes));
  }

  file(name: string): string {
    return join(this.#path, name);
  }

  get peak(): number {
    return Number(readFileSync(this.file(this.#isSecond ? "memory.peak" : "memory.max_usage_in_bytes")));
  }

  [Symbol.dispose](): void {
    rmdirSync(this.#path);
  }
}

const review = (size: number): string =>
  JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: "u",
      kind: { group: "", version: "v1", kind: "Pod" },
      operation: "CREATE",
      namespace: "shop",
      object: {
        metadata: { labels: { app: "web" }, annotations: { text: "x".repeat(size) } },
        spec: { containers: count(2, (index) => ({ name: `c${index}`, image: "a" })) },
      },
    },
  });

const folder = mkdtempSync(join(tmpdir(), "lameduck-memory-"));
const kubeconfig = join(folder, "kubeconfig");
await using api = await OperatorApi.start();
for (const resource of configurations)
  api.put(resource, "lameduck.dev", { webhooks: [{ name: "a", clientConfig: {} }] });
for (const name of ["shop", "h"])
  api.put("namespaces", name, { metadata: { labels: { "lameduck.dev/inject": "enabled" } } });
api.put("services", "web", { metadata: { namespace: "shop" }, spec: { selector: { app: "web" } } });
fill(api);
const contexts = [{ name: "a", context: { cluster: "c", namespace: "ops" } }];
const clusters = [{ name: "c", cluster: { server: api.url } }];
writeFileSync(kubeconfig, JSON.stringify({ "current-context": "a", contexts, clusters }));

using group = new MemoryLimit(limit);
const flags = `--port=0 --metrics-port=0 --address=127.0.0.1 --kubeconfig=${kubeconfig} --audit-every=5s`;
const main = join(import.meta.dirname, "..", "dist", "main.js");
const shell = `echo $$ > ${group.file("cgroup.procs")}; exec ${process.execPath} ${main} webhook ${flags}`;
const child = spawn("/bin/sh", ["-c", shell], {
  stdio: ["ignore", "ignore", "pipe"],
  env: { ...process.env, ...memory, NODE_ENV: "production" },
});
const closed = once(child, "close");
const isAlive = (): boolean => child.exitCode === null && child.signalCode === null;
let log = "";
child.stderr.setEncoding("utf8").on("data", (text: string) => (log = (log + text).slice(-100_000)));
try {
  await until(() => !isAlive() || log.includes('"msg":"listening"'), "listening");
  const line = log.split("\n").find((one) => one.includes("listening")) ?? "{}";
  const { port } = JSON.parse(line) as { port: number };
  await until(() => !isAlive() || bundles(api).every((one) => one !== ""), "a certificate");
  const [ca = ""] = bundles(api);
  const agent = new Agent({ keepAlive: true, maxSockets: 32, ca, servername: "lameduck-webhook.ops.svc" });
  const [usual, large] = [review(2_500), review(3_000_000)];
  let [answered, failed] = [0, 0];
  const ask = (body: string): void => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    request(
      { host: "127.0.0.1", port, path: "/mutate?timeout=2s", method: "POST", agent, headers },
      (response) => response.resume().on("end", () => answered++),
    )
      .on("error", () => failed++)
      .end(body);
  };
  const began = performance.now();
  const all = rate * seconds;
  for (let index = 0; index < all && isAlive(); index++) {
    await delay(Math.max(0, began + (index * 1_000) / rate - performance.now()));
    ask(index % largeEvery === 0 ? large : usual);
    // Everything is listed anew, so that the old and the new are there at one moment.
    if (index === Math.floor(all / 2)) api.expire();
  }
  await delay(1_000);
  const status = isAlive() ? readFileSync(`/proc/${child.pid}/status`, "utf8") : "";
  const resident = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? NaN) / 1_024;
  process.stdout.write(
    `${isAlive() ? "alive" : `ended by ${child.signalCode ?? child.exitCode}`}: ${answered} of ${all} reviews answered, ${failed} failed; ` +
      `peak of the cgroup ${(group.peak / mebibyte).toFixed(0)} of ${limit / mebibyte} MiB, of the RSS ${resident.toFixed(0)} MiB\n`,
  );
  if (!isAlive()) process.exitCode = 1;
  agent.destroy();
} finally {
  child.kill("SIGKILL");
  await closed;
  rmSync(folder, { recursive: true });
}
