import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import test from "node:test";
import { promisify } from "node:util";
import { ClusterView } from "../src/cluster-view.ts";
import { WebhookMetrics } from "../src/metrics.ts";
import { leftOutLogger } from "../src/left-out.ts";
import { OperatorApi, until } from "../../cluster/test/operator-api.ts";

interface Measured {
  /** Mebibytes, when it began, and at most. */
  readonly before: number;
  readonly peak: number;
  /** Milliseconds of processor time: to read everything, without a break, and to tell what leads to a pod. */
  readonly toRead: number;
  readonly longestTurn: number;
  readonly question: number;
  readonly leftOut: number;
  readonly why?: string;
  readonly exposed: number;
  readonly problems: readonly string[];
}

async function measured(fill: (api: OperatorApi) => void): Promise<Measured> {
  await using api = await OperatorApi.start();
  api.put("services", "web", { metadata: { namespace: "shop" }, spec: { selector: { app: "web" } } });
  fill(api);
  const child = join(import.meta.dirname, "exposure-child.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [child, api.url]);
  return JSON.parse(stdout) as Measured;
}

const count = <T>(length: number, each: (index: number) => T): T[] =>
  Array.from({ length }, (_, index) => each(index));
const metadata = { namespace: "hostile" };
const selecting = (keys: number): object => ({
  selector: Object.fromEntries(count(keys, (key) => [`key-of-a-selector-${key}`, "v"])),
});

const clusters: Record<string, { fill: (api: OperatorApi) => void; leftOut: number; why?: RegExp }> = {
  "40 Ingresses of 1.4 MB": {
    leftOut: 69,
    why: /^ingresses hostile\/i0 leads to 14000 Services; the first 1000 count/,
    fill: (api) => {
      const paths = count(14_000, (path) => ({
        path: `/${"p".repeat(30)}${path}`,
        pathType: "Prefix",
        backend: { service: { name: `s${path}` } },
      }));
      for (let index = 0; index < 40; index++)
        api.put("networking.k8s.io/ingresses", `i${index}`, {
          metadata,
          spec: { rules: [{ http: { paths } }] },
        });
    },
  },
  "40 Services of 0.9 MB": {
    leftOut: 40,
    why: /^services hostile\/s0 selects by 20000 labels/,
    fill: (api) => {
      const annotations = { "service.beta.kubernetes.io/aws-load-balancer-x": "x".repeat(250_000) };
      const spec = selecting(20_000);
      for (let index = 0; index < 40; index++)
        api.put("services", `s${index}`, { metadata: { ...metadata, annotations }, spec });
    },
  },
  "2,000 HTTPRoutes of 13 kB": {
    leftOut: 1_957,
    why: /^httproutes \(v1\) hostile\/r\d+ its namespace has more of them than are kept/,
    fill: (api) => {
      for (let index = 0; index < 2_000; index++) {
        const backendRefs = count(16, (ref) => ({ name: `${"n".repeat(20)}-${index}-${ref}` }));
        const rules = count(16, (rule) => ({
          backendRefs: backendRefs.map(({ name }) => ({ name: `${name}-${rule}` })),
        }));
        api.put("gateway.networking.k8s.io/httproutes", `r${index}`, { metadata, spec: { rules } });
      }
    },
  },
  "routes and an Ingress to 100,000 Services of short names, of every kind": {
    leftOut: 801,
    why: /hostile\/r\d+ its namespace has more of them than are kept/,
    fill: (api) => {
      const named = (kind: number, route: number): { name: string }[] =>
        count(1_000, (ref) => ({ name: (kind * 100_000 + route * 1_000 + ref).toString(36) }));
      const kinds = ["httproutes", "grpcroutes", "tlsroutes", "tcproutes", "udproutes"];
      for (let index = 0; index < 100; index++) {
        for (const [number, kind] of kinds.entries()) {
          const rules = [{ backendRefs: named(number, index) }];
          api.put(`gateway.networking.k8s.io/${kind}`, `r${index}`, { metadata, spec: { rules } });
        }
        const paths = named(5, index).map((service) => ({ backend: { service } }));
        const rules = [{ http: { paths } }];
        api.put("networking.k8s.io/ingresses", `r${index}`, { metadata, spec: { rules } });
      }
    },
  },
  "2,000 Services of 500 keys": {
    leftOut: 2_000,
    fill: (api) => {
      const spec = selecting(500);
      for (let index = 0; index < 2_000; index++)
        api.put("services", `s${index}`, { metadata: { namespace: "shop" }, spec });
    },
  },
  "8,000 Services, each in words of its own, of which 2,000 select a pod": {
    leftOut: 0,
    fill: (api) => {
      for (let index = 0; index < 8_000; index++) {
        const annotations = { "cloud.google.com/neg": `{"a":${index}}` };
        const namespace = ["shop", "a", "b", "c"][index % 4];
        const spec = { selector: { app: "web" } };
        api.put("services", `s${index}`, { metadata: { namespace, annotations }, spec });
      }
    },
  },
};

for (const [what, { fill, leftOut, why }] of Object.entries(clusters))
  test(`memory is bounded, and nobody waits for long, in a cluster of ${what}`, async () => {
    const result = await measured(fill);
    const told = JSON.stringify(result);
    assert.deepEqual(result.problems, []);
    assert.ok(result.peak - result.before < 128, told);
    assert.ok(result.longestTurn < result.toRead / 4, told);
    assert.ok(result.question < result.toRead / 20, told);
    assert.ok(result.exposed >= 1 && result.exposed <= 20, told);
    assert.ok(Math.abs(result.leftOut - leftOut) <= leftOut / 20, told);
    if (why) assert.match(result.why ?? "", why);
  });

test("a namespace at the limit of objects that are kept takes no room from another, and has room again when one of its objects goes", async () => {
  await using api = await OperatorApi.start();
  const big = { metadata: { namespace: "hostile" }, spec: selecting(60) };
  const names = count(1_500, (index) => `s${index}`);
  for (const name of names) api.put("services", name, big);
  api.put("services", "web", { metadata: { namespace: "shop" }, spec: { selector: { app: "web" } } });
  const client = api.client();
  const metrics = new WebhookMetrics();
  const logged: unknown[] = [];
  let at = 0;
  const onLeftOut = leftOutLogger(metrics, { warn: (...line: unknown[]) => logged.push(line) }, () => at);
  const view = new ClusterView(client, { retryMs: 20, onProblem: () => undefined, onLeftOut });
  await using _ = {
    [Symbol.asyncDispose]: async () => {
      await view.stop();
      client.close();
    },
  };
  view.start();
  await until(() => view.notReady() === undefined, "everything read");
  const known = (): number => view.sizes().get("services") ?? 0;
  const before = known();
  assert.ok(before > 350 && before < 550, String(before));
  assert.deepEqual(view.pathsTo("shop", { app: "web" })?.exposedBy, ["Service web"]);
  assert.equal(logged.length, 1, "once for a namespace");
  assert.match(
    await metrics.registry.metrics(),
    new RegExp(`objects_left_out_total\\{part="services"\\} ${1_501 - before}`),
  );
  for (const name of names.slice(0, 10)) api.remove("services", name);
  await until(() => known() === before - 10, "ten are gone");
  for (const name of names.slice(-20)) api.change("services", name, {});
  await until(() => known() === before, "ten of those that are told again have room");
  at = 3_600_001;
  api.change("services", names.at(-1) ?? "", { metadata: { labels: { a: "b" } } });
  api.change("services", "web", { spec: { selector: { app: "other" } } });
  await until(() => view.pathsTo("shop", { app: "other" })?.exposedBy.length === 1, "web has changed");
  assert.equal(logged.length, 2, "and again after an hour");
  api.change("services", "web", { spec: selecting(65) });
  await until(() => view.pathsTo("shop", { app: "other" })?.exposedBy.length === 0, "absurd from now on");
});
