import assert from "node:assert/strict";
import { test } from "node:test";
import { Listings, routeKinds, Routing, SlimPaths } from "@lameduck/cluster";
import { until } from "../../cluster/test/operator-api.ts";
import { coordinating, type Scene, withdrawn } from "./fixture.ts";
import { there } from "./model.ts";

const account = "lameduck-node/lameduck-watcher";

test("an account that is bound to kinds of consumers speaks for no other kind, and for its own node alone", async () => {
  const flags = [`--consumer-account=${account}=kube-proxy`];
  await using all = await coordinating((scene) => scene.node("node1"), { flags });
  const said = { version: 1, node: "node1", basis: "rules", epoch: null, applied: 0, known: 0, wait: 0 };
  const post = (name: string, fields: object): Promise<{ status: number; text: string }> =>
    all.tell(name, JSON.stringify({ ...said, ...fields }), { token: "token-node1" });
  assert.equal((await post("kube-proxy/node1", { kind: "kube-proxy" })).status, 200);
  assert.match((await post("nginx/edge-1", { kind: "nginx" })).text, /may report as kube-proxy only/);
  const serves = ["node", "ingress-class/nginx"];
  assert.match(
    (await post("kube-proxy/node1", { kind: "kube-proxy", serves })).text,
    /does not read ingress-class\/nginx/,
  );
});

test("an account that is bound to the kind of an ingress proxy serves classes, and speaks for no node's proxy", async () => {
  const flags = ["--consumer-account=ingress/haproxy=haproxy"];
  await using all = await coordinating((scene) => scene.node("node1"), { flags });
  all.api.tokens.set("edge", { account: "ingress:haproxy", node: "node1" });
  await assert.rejects(all.report("node1", {}, "edge"), /^Error: 403.*may report as haproxy only/);
  const said = { version: 1, kind: "haproxy", basis: "state", epoch: null, applied: 0, known: 0, wait: 0 };
  const body = JSON.stringify({ ...said, serves: ["ingress-class/public"] });
  assert.equal((await all.tell("haproxy/edge-1", body, { token: "edge" })).status, 200);
});

test("an account that is bound to a kind serves nothing that another kind reads", async () => {
  const flags = ["haproxy", "aws", "http"].map((kind) => `--consumer-account=edge/${kind}=${kind}`);
  await using all = await coordinating(
    (scene) => {
      scene.node("node1");
      const classes = {
        own: "haproxy.org/ingress-controller/own",
        nginx: "k8s.io/ingress-nginx",
        odd: "odd.example/x",
      };
      for (const [name, controller] of Object.entries(classes))
        scene.api.put("networking.k8s.io/ingressclasses", name, { spec: { controller } });
    },
    { flags },
  );
  const balancer = "load-balancer/aws";
  for (const [kind, may, mayNot] of [
    ["haproxy", ["own", "odd", "unheard-of"].map((one) => `ingress-class/${one}`), ["ingress-class/nginx"]],
    [
      "haproxy",
      ["gateway-class/any", "consumer/haproxy/edge", "consumer/cdn/edge"],
      ["node", "node-proxy/cilium", balancer, "proxy/traefik", "consumer/nginx/edge"],
    ],
    [
      "aws",
      [balancer, `${balancer}/shop/web`, "consumer/aws/shop"],
      ["ingress-class/odd", "node", "load-balancer/gcp", "load-balancer/awsome"],
    ],
    ["http", ["ingress-class/nginx", "proxy/traefik", `${balancer}/shop/web`], []],
  ] as const) {
    all.api.tokens.set(kind, { account: `edge:${kind}`, node: "node1" });
    for (const [needs, expected] of [
      [may, 200],
      [mayNot, 403],
    ] as const)
      for (const need of needs) {
        const said = {
          version: 1,
          kind,
          basis: "state",
          epoch: null,
          applied: 0,
          known: 0,
          wait: 0,
          serves: [need],
        };
        const body = JSON.stringify(need === "node" ? { ...said, node: "node1" } : said);
        const name = need === "node" ? "node1" : `of-${need.replaceAll("/", ".")}`;
        const { status, text } = await all.tell(`${kind}/${name}`, body, { token: kind });
        assert.equal(status, expected, `${kind} ${need}: ${text}`);
        if (status === 403)
          assert.match(text, new RegExp(`may report as ${kind} only, which does not read ${need}`));
      }
  }
});

test("the status names a list that the API server refuses, and the right that is missing", async () => {
  const refused = "gateway.networking.k8s.io/grpcroutes";
  await using all = await coordinating((scene) => {
    scene.api.fault = ({ resource }) =>
      resource === refused ? { status: 403, body: { reason: "Forbidden", message: "no" } } : undefined;
  });
  await until(() => all.coordinator.status().unread?.length === 1, "the refusal");
  const resource = refused.split("/").toReversed().join(".");
  const path = refused.replace("/", "/v1/");
  assert.deepEqual(all.coordinator.status().unread, [
    { name: "grpcroutes (v1)", state: "refused", resource, problem: `GET /apis/${path}: no` },
  ]);
});

test("a replica is ready although one CRD answers with errors from its start on: no pod is released, and the answer is named", async () => {
  const broken = "projectcontour.io/httpproxies";
  const { all, state } = await withdrawn(({ api }) => {
    const spec = { routes: [{ services: [{ name: "another" }] }] };
    api.put(broken, "proxy", { metadata: { namespace: "shop" }, spec });
    api.fault = ({ resource }) =>
      resource === broken ? { status: 500, body: { message: "the conversion failed" } } : undefined;
  });
  await using _ = all;
  assert.equal(all.coordinator.notReady(), undefined);
  const resource = broken.split("/").toReversed().join(".");
  const problem = "GET /apis/projectcontour.io/v1/httpproxies: the conversion failed";
  const [{ name, ...unread } = { name: "" }] = all.coordinator.status().unread ?? [];
  assert.match(name, /^httpproxies/);
  assert.deepEqual(unread, { state: "waiting", resource, problem });
  while ((await state()) !== `incomplete ${name} (unread)`);
  all.api.fault = () => undefined;
  await until(() => all.coordinator.status().unread?.length === 0, "it is read");
  while ((await state()) !== "released");
});

test("routes of all kinds and versions lead to a pod, and the end of one version takes nothing from the other", () => {
  const routing = new Routing();
  const gateway = { metadata: { name: "edge", namespace: "shop", uid: "g" }, gatewayClass: "envoy" };
  const change = { type: "there", at: 0, live: true, since: 0 } as const;
  routing.gateway({ ...change, object: gateway }, 0);
  const spec = { parentRefs: [{ name: "edge" }], rules: [{ backendRefs: [{ name: "web" }] }] };
  const route = { metadata: { name: "r", namespace: "shop", uid: "r" }, spec };
  assert.deepEqual(routeKinds.map(({ kind, version }) => `${kind} ${version}`).slice(3, 9), [
    "TLSRoute v1alpha2",
    "TLSRoute v1",
    "TCPRoute v1alpha2",
    "TCPRoute v1",
    "UDPRoute v1alpha2",
    "UDPRoute v1",
  ]);
  const slim = new SlimPaths({ asks: "by Services" });
  const [old, newer] = routeKinds.slice(3, 5).map((kind) => slim.route(kind)(route));
  assert.ok(old && newer);
  for (const object of [old, newer]) routing.route({ ...change, object }, 0);
  routing.route({ ...change, type: "gone", object: old }, 0);
  routing.forget(60_000);
  assert.deepEqual(routing.of(["shop/web"]).requiredReporters, ["gateway-class/envoy"]);
  routing.route({ ...change, type: "gone", object: newer }, 60_000);
  routing.forget(120_000);
  assert.deepEqual(routing.of(["shop/web"]).requiredReporters, []);
});

const ingresses = "networking.k8s.io/ingresses";

/** An Ingress that leads to so many Services, of another namespace unless it is said. */
function ingress(api: Scene["api"], name: string, backends: number, namespace = "shop"): void {
  const backend = (at: number): object => ({
    backend: { service: { name: `${name}-${at}`.padEnd(63, "x") } },
  });
  const rules = [{ http: { paths: Array.from({ length: backends }, (_, at) => backend(at)) } }];
  api.put(ingresses, name, { metadata: { namespace }, spec: { ingressClassName: "edge", rules } });
}

test("the routes of a namespace are kept up to a bound, and no pod of the namespace is released where a route is left out", async () => {
  const { all, state } = await withdrawn(({ api }) => {
    for (let at = 0; at < 60; at++) ingress(api, `full-${at}`, 1_000);
  });
  await using _ = all;
  assert.equal(await state(), "incomplete objects-left-out (missing)");
  const text = await (await fetch(`http://127.0.0.1:${all.metricsPort}/metrics`)).text();
  const [, kept] = /^lameduck_known_objects\{kind="ingresses"\} (\d+)$/m.exec(text) ?? [];
  assert.ok(Number(kept) < 60, `${kept} of 60 are kept`);
});

test("the EndpointSlices of a namespace are kept up to a bound, and no pod of the namespace is released where a slice is left out", async () => {
  const slice = "discovery.k8s.io/endpointslices";
  const { all, state } = await withdrawn(({ api }) => {
    const labels = { "kubernetes.io/service-name": "own" };
    for (let at = 0; at < 34; at++) {
      const targetRef = { kind: "Pod", uid: `${at}`.padEnd(1_000_000, "x") };
      const endpoints = [{ addresses: ["10.0.0.1"], targetRef }];
      api.put(slice, `own-${at}`, { metadata: { namespace: "shop", labels }, endpoints });
    }
  });
  await using _ = all;
  assert.equal(await state(), "incomplete objects-left-out (missing)");
  const text = await (await fetch(`http://127.0.0.1:${all.metricsPort}/metrics`)).text();
  assert.match(text, /^lameduck_known_objects\{kind="endpointslices"\} 34$/m, "of 35");
});

test("routes of a namespace that were left out count for nothing once all routes of the namespace fit again", () => {
  const routing = new Routing();
  const needs = (): readonly string[] => routing.of(["shop/web"]).requiredReporters;
  routing.leftOut("ingresses", "shop");
  routing.leftOut("services", "shop");
  assert.deepEqual(needs(), ["objects-left-out"]);
  routing.listed("ingresses", new Set());
  assert.deepEqual(needs(), ["objects-left-out"]);
  const { version } = routing;
  routing.listed("services", new Set(["other"]));
  assert.deepEqual(needs(), []);
  assert.notEqual(routing.version, version);
});

test("a route with more Services than are kept holds the pods of its namespace, and of no other, until it is gone", async () => {
  const { all, state } = await withdrawn(({ api }) => {
    ingress(api, "wide", 1_001);
    ingress(api, "elsewhere", 1_001, "other");
  });
  await using _ = all;
  assert.equal(await state(), "incomplete objects-left-out (missing)");
  all.api.remove(ingresses, "wide");
  await until(
    () => [...all.coordinator.terminations.values()].some((one) => one.state === "released"),
    "the release",
  );
});

test("a route of another namespace leads to a pod only where a ReferenceGrant lets it in", async () => {
  const gateway = "gateway.networking.k8s.io";
  const { all, state } = await withdrawn(({ api }) => {
    const backendRefs = [{ name: "web", namespace: "shop" }];
    const spec = { parentRefs: [{ name: "of-nobody" }], rules: [{ backendRefs }] };
    api.put(`${gateway}/httproutes`, "intruder", { metadata: { namespace: "other" }, spec });
  });
  await using _ = all;
  assert.equal(await state(), "released");
  const from = [{ group: gateway, kind: "HTTPRoute", namespace: "other" }];
  const spec = { from, to: [{ group: "", kind: "Service" }] };
  const second = await withdrawn(({ api }) => {
    api.put(`${gateway}/referencegrants`, "in", { metadata: { namespace: "shop" }, spec });
    const rules = [{ backendRefs: [{ name: "web", namespace: "shop" }] }];
    const route = { parentRefs: [{ name: "edge" }], rules };
    api.put(`${gateway}/httproutes`, "guest", { metadata: { namespace: "other" }, spec: route });
  });
  await using __ = second.all;
  assert.equal(
    await second.state(),
    "incomplete gateway-class/of other/edge (missing; HTTPRoute other/guest)",
  );
});

test("a node that is not Ready when the coordinator starts may have been Ready a moment ago", async () => {
  const { all, state } = await withdrawn((scene) => {
    scene.node("node2", false);
    const spec = { acknowledgements: { notReadyAfterSeconds: 60 } };
    scene.api.put("lameduck.dev/drainpolicies", "default", { metadata: { namespace: "shop" }, spec });
  });
  await using _ = all;
  assert.equal(await state(), "incomplete kube-proxy/node2 (missing)");
});

test("the Services that a pod has left are kept up to a bound, and only where the pod exists", () => {
  for (const [isThere, kept] of [
    [true, 102],
    [false, 2],
  ] as const) {
    const listings = new Listings(() => isThere);
    const list = (slice: string, service: string): void => {
      const metadata = { name: slice, uid: slice, namespace: "shop" };
      const endpoints = [{ pod: "a", isReady: true, isTerminating: false }];
      listings.slice(there({ metadata, service, endpoints }), 0);
    };
    list("one", "shop/one");
    for (let at = 0; at < 1_000; at++) list("two", `shop/${at}`);
    const services = listings.servicesOf({ namespace: "shop", uid: "a", addresses: [] });
    assert.equal(services.length, kept);
    assert.ok(["shop/one", "shop/999"].every((one) => services.includes(one)));
    assert.equal(services.includes("shop/998"), isThere);
  }
});
