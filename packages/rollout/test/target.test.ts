import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { KubernetesError, type KubernetesErrorCode, selects, selectorText } from "@lameduck/kube";
import { rightsYaml } from "@lameduck/kube/rights-yaml";
import { openRoute, parseRoutes } from "@lameduck/load";
import { parseTarget } from "../src/index.ts";
import { controllerProgress } from "../src/progress.ts";

test("a target is written as for kubectl", () => {
  for (const text of ["deployment/web", "deploy/web", "Deployment/web", "deployments.apps/web"])
    assert.deepEqual(parseTarget(text, "shop"), { kind: "deployment", name: "web", namespace: "shop" });
  assert.equal(parseTarget("po/web-0", "shop").kind, "pod");
});

for (const text of ["web", "service/web", "deployment/", "deployment/a/b", "deployment/Web!", ""])
  test(`"${text}" names no target`, () => {
    assert.throws(() => parseTarget(text, "shop"), hasCode("LAMEDUCK_BAD_TARGET"));
  });

for (const namespace of ["", "dev/../kube-system", "dev?x=", "Dev", "a".repeat(64)])
  test(`"${namespace}" names no namespace`, () => {
    assert.throws(() => parseTarget("deployment/web", namespace), hasCode("LAMEDUCK_BAD_TARGET"));
  });

for (const urls of [["shop"], ["ftp://a/"], ["http://a/", "http://a/x"], ["http://u:p@a/"], ["x=nonsense"]])
  test(`${urls.join(" ")} is refused as URLs to send to`, () => {
    assert.throws(() => parseRoutes(urls), hasCode("LAMEDUCK_BAD_URL"));
  });

test("the protocol of a route follows from its URL, and another one must fit the URL", () => {
  assert.equal(parseRoutes(["https://a/"])[0]?.protocol, "https");
  assert.equal(parseRoutes(["https://a/"], { protocol: "h2" })[0]?.protocol, "h2");
  assert.throws(() => parseRoutes(["https://a/"], { protocol: "h2c" }), hasCode("LAMEDUCK_BAD_URL"));
  assert.throws(() => parseRoutes(["http://a/"], { protocol: "h2" }), hasCode("LAMEDUCK_BAD_URL"));
});

test("a route is called by its name, or else by its host", () => {
  const names = parseRoutes(["ingress=http://shop.example/cart", "http://10.96.0.7:8080/"]).map(
    ({ name }) => name,
  );
  assert.deepEqual(names, ["ingress", "10.96.0.7:8080"]);
});

async function serve(t: TestContext, status: number, headers: Record<string, string> = {}): Promise<string> {
  const server: Server = createServer((_, response) => response.writeHead(status, headers).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test("a URL is asked before any load is sent, for its status and the pod that it names", async (t) => {
  const [route] = parseRoutes([await serve(t, 404, { "x-lameduck-pod": "web-1" })]);
  assert.ok(route);
  const { status, pod, address, others } = await openRoute(route);
  assert.deepEqual([status, pod, address, others], [404, "web-1", "127.0.0.1", []]);
});

test("a URL that answers 5xx, refuses or has no address is refused as a route", async (t) => {
  for (const url of [await serve(t, 503), "http://127.0.0.1:1/", "http://no-such-host.invalid/"]) {
    const [route] = parseRoutes([url]);
    assert.ok(route);
    await assert.rejects(openRoute(route), hasCode("LAMEDUCK_URL_NOT_ANSWERING"));
  }
});

test("a selector selects by labels, and is written as a query", () => {
  const selector = {
    matchLabels: { app: "web" },
    matchExpressions: [
      { key: "tier", operator: "In", values: ["a", "b"] },
      { key: "old", operator: "DoesNotExist" },
    ],
  };
  assert.equal(selectorText(selector), "app=web,tier in (a,b),!old");
  assert.equal(selects(selector, { app: "web", tier: "b" }), true);
  assert.equal(selects(selector, { app: "web", tier: "c" }), false);
  assert.equal(selects(selector, { app: "web", tier: "a", old: "" }), false);
});

test("the printed rights have one rule for each resource and name", () => {
  const yaml = rightsYaml("shop", [
    { group: "", resource: "pods", verbs: ["list", "watch"] },
    { group: "", resource: "pods", verbs: ["delete", "list"] },
    { group: "", resource: "nodes", verbs: ["patch"], name: "on", clusterWide: true },
  ]);
  assert.equal(yaml.match(/- pods/g)?.length, 1);
  assert.match(yaml, /- list\n\s+- watch\n\s+- delete/);
  assert.match(yaml, /kind: ClusterRole[^]*resourceNames:\n\s+- "on"/);
});

const deployment = (status: object, generation = 2): Parameters<typeof controllerProgress>[1] => ({
  metadata: { name: "web", uid: "u", generation },
  spec: { replicas: 3, selector: {}, template: { spec: { containers: [] } } },
  status,
});

test("a rollout is over once its controller has observed it and no old pod is left", () => {
  const all = { observedGeneration: 2, replicas: 3, updatedReplicas: 3, availableReplicas: 3 };
  assert.equal(controllerProgress("deployment", deployment(all), 2).done, true);
  assert.equal(controllerProgress("deployment", deployment(all), 3).done, false);
  assert.equal(
    controllerProgress("deployment", deployment({ ...all, observedGeneration: 1 }), 2).done,
    false,
  );
  const old = controllerProgress("deployment", deployment({ ...all, replicas: 4 }), 2);
  assert.deepEqual(old, { done: false, words: "3 of 3 pods updated, 3 available, 1 old" });
});

function hasCode(code: KubernetesErrorCode): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof KubernetesError, String(error));
    assert.equal(error.code, code);
    return true;
  };
}
