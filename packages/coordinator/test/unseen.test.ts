/** Senders for which nothing reports, over a whole coordinator: what a pod, its record and the status are told of them. */
import assert from "node:assert/strict";
import test from "node:test";
import { until } from "../../cluster/test/operator-api.ts";
import { describeTermination } from "../src/records/report/describe.ts";
import { eventOf } from "../src/records/event-of.ts";
import { FollowedTerminations } from "../src/records/report/followed.ts";
import type { TerminationView } from "../src/termination-view.ts";
import { type Coordinating, type Scene, withdrawn } from "./fixture.ts";

type Fill = (api: Scene["api"]) => void;

const withSidecar: Fill = (api) =>
  void api.put("pods", "client", {
    metadata: { namespace: "other" },
    spec: { nodeName: "node1", containers: [{ name: "app" }], initContainers: [{ name: "istio-proxy" }] },
    status: { phase: "Running" },
  });
const metadata = { namespace: "shop" };
const put =
  (resource: string, name: string, fields: Parameters<Scene["api"]["put"]>[2]): Fill =>
  (api) =>
    void api.put(resource, name, fields);
const httpProxy = put("projectcontour.io/httpproxies", "web", {
  metadata,
  spec: { routes: [{ services: [{ name: "web" }] }] },
});

const binding = (labels: Readonly<Record<string, string>>): Fill =>
  put("elbv2.k8s.aws/targetgroupbindings", "tg", {
    metadata: { ...metadata, labels },
    spec: { serviceRef: { name: "web" }, targetType: "ip" },
  });

const cases: readonly (readonly [what: string, need: string, reason: string, seconds: number, fill: Fill])[] =
  [
    [
      "a sidecar in another namespace",
      "mesh/istio",
      "Istio's sidecars, as Pod other/client shows",
      30,
      withSidecar,
    ],
    [
      "a namespace in ambient mode",
      "mesh/istio-ambient",
      "ztunnel, Istio's proxy on each node, as Namespace other shows",
      30,
      put("namespaces", "other", { metadata: { labels: { "istio.io/dataplane-mode": "ambient" } } }),
    ],
    ["an HTTPProxy", "proxy/contour", "Envoy of Contour, as HTTPProxy shop/web shows", 10, httpProxy],
    [
      "a TargetGroupBinding",
      "load-balancer/aws/shop/web",
      "a load balancer of AWS with pods as targets, as TargetGroupBinding shop/tg shows",
      120,
      binding({}),
    ],
    [
      "a TargetGroupBinding of an Ingress",
      "load-balancer/aws/shop/web",
      "a load balancer of AWS with pods as targets, as TargetGroupBinding shop/tg shows",
      40,
      binding({ "ingress.k8s.aws/stack-name": "web" }),
    ],
    [
      "an IngressRoute of another namespace",
      "proxy/traefik",
      "Traefik, as IngressRoute edge/web shows",
      10,
      put("traefik.io/ingressroutes", "web", {
        metadata: { namespace: "edge" },
        spec: { routes: [{ services: [{ name: "web", namespace: "shop" }] }] },
      }),
    ],
    [
      "Antrea's agent on a node that counts",
      "node-proxy/antrea",
      "Antrea's proxy, as Pod kube-system/agent on node1 shows",
      10,
      put("pods", "agent", {
        metadata: { namespace: "kube-system" },
        spec: { nodeName: "node1", hostNetwork: true, containers: [{ name: "antrea-agent" }] },
        status: { phase: "Running" },
      }),
    ],
    [
      "Calico in eBPF mode",
      "node-proxy/calico",
      "Calico in eBPF mode, as FelixConfiguration default shows",
      10,
      put("crd.projectcalico.org/felixconfigurations", "default", { spec: { bpfEnabled: true } }),
    ],
    [
      "an Ingress of a class that nobody serves",
      "ingress-class/edge",
      "Ingress shop/web",
      10,
      put("networking.k8s.io/ingresses", "web", {
        metadata,
        spec: { ingressClassName: "edge", defaultBackend: { service: { name: "web" } } },
      }),
    ],
  ];

const isReleased = ({ coordinator }: Coordinating): boolean =>
  [...coordinator.terminations.values()].some(({ state }) => state === "released");

const policy = (api: Scene["api"], acknowledgements: object, more: object = {}): void =>
  void api.put("lameduck.dev/drainpolicies", "default", { metadata, spec: { acknowledgements, ...more } });

for (const [what, need, reason, seconds, fill] of cases)
  test(`a pod is not released, and its answer says why and for how long it is waited for, until a policy says that it sends nothing: ${what}`, async () => {
    const { all, state, assumed } = await withdrawn(({ api }) => fill(api));
    await using _ = all;
    assert.equal(await state(), `incomplete ${need} (missing; ${reason}; ${seconds} s are assumed)`);
    assert.equal(await assumed(), seconds);
    policy(all.api, { sendsNothing: `proxy/other, ${need}` });
    await until(() => isReleased(all), "the release");
  });

for (const group of ["inference.networking.k8s.io", "inference.networking.x-k8s.io"])
  test(`a gateway that has let go of a pod says nothing of the endpoint picker of an InferencePool: ${group}`, async () => {
    const { all, state } = await withdrawn(({ api }) => {
      put("gateway.networking.k8s.io/gateways", "edge", { metadata, spec: { gatewayClassName: "envoy" } })(
        api,
      );
      const backendRefs = [{ group, kind: "InferencePool", name: "models" }];
      put("gateway.networking.k8s.io/httproutes", "chat", {
        metadata,
        spec: { parentRefs: [{ name: "edge" }], rules: [{ backendRefs }] },
      })(api);
      policy(api, { sendsNothing: "gateway-class/envoy" });
    });
    await using _ = all;
    const shown = "the endpoint picker of an InferencePool, as HTTPRoute shop/chat shows";
    assert.equal(await state(), `incomplete proxy/endpoint-picker (missing; ${shown}; 10 s are assumed)`);
    policy(all.api, { sendsNothing: "gateway-class/envoy, proxy/endpoint-picker" });
    await until(() => isReleased(all), "the release");
  });

test("a DrainPolicy says how long the slowest sender is waited for; without a sender that nobody asks, none is", async () => {
  const { all, assumed } = await withdrawn(({ api }) => {
    withSidecar(api);
    httpProxy(api);
    policy(api, {}, { convergenceSeconds: 45 });
  });
  await using _ = all;
  assert.equal(await assumed(), 45);
  policy(all.api, { sendsNothing: "mesh/istio" });
  while ((await assumed()) !== 10);
  policy(all.api, { sendsNothing: "mesh/istio, proxy/contour" });
  await until(() => isReleased(all), "the release");
  assert.equal(await assumed(), 0);
});

test("a pod is released once somebody reports for its mesh, and no sooner", async () => {
  const { all, state } = await withdrawn(({ api }) => withSidecar(api), {
    flags: ["--consumer-account=lameduck-node/lameduck-watcher", "--consumer-account=mesh/reader=http"],
  });
  await using _ = all;
  all.api.tokens.set("mesh", { account: "mesh:reader" });
  const common = { version: 1, kind: "http", basis: "state", wait: 0, serves: ["mesh/istio"] };
  const say = async (fields: object): Promise<{ epoch: string; head: number }> => {
    const line = JSON.stringify({ ...common, applied: 0, known: 0, epoch: null, ...fields });
    const { text } = await all.tell("http/mesh", line, { token: "mesh" });
    return JSON.parse(text) as { epoch: string; head: number };
  };
  const { epoch, head } = await say({});
  await until(
    () => [...all.coordinator.terminations.values()].some((one) => one.state === "waiting"),
    "it is waited for",
  );
  assert.equal(await state(), "waiting http/mesh (state)");
  await say({ epoch, applied: head, known: head });
  await until(() => isReleased(all), "the release");
});

test("a mesh whose proxy runs on each node is reported for on each node", async () => {
  const ztunnel = (node: string): object => ({
    metadata: { namespace: "istio-system" },
    spec: { nodeName: node, containers: [{ name: "istio-proxy", args: ["proxy", "ztunnel"] }] },
    status: { phase: "Running" },
  });
  const { all, state } = await withdrawn(
    ({ api }) => {
      for (const name of ["node1", "node2"]) api.put("pods", `ztunnel-${name}`, ztunnel(name) as never);
    },
    {
      flags: [
        "--consumer-account=lameduck-node/lameduck-watcher",
        "--consumer-account=istio-system/ztunnel=ztunnel",
      ],
    },
  );
  await using _ = all;
  all.scene.node("node2");
  await all.follow("node2");
  const beside = async (node: string): Promise<void> => {
    all.api.tokens.set(`ztunnel-${node}`, { account: "istio-system:ztunnel", node });
    const common = { version: 1, kind: "ztunnel", basis: "state", wait: 0, serves: ["mesh/istio-ambient"] };
    const say = async (fields: object): Promise<{ epoch: string; head: number }> => {
      const line = JSON.stringify({ ...common, node, applied: 0, known: 0, epoch: null, ...fields });
      const { text } = await all.tell(`ztunnel/${node}`, line, { token: `ztunnel-${node}` });
      return JSON.parse(text) as { epoch: string; head: number };
    };
    const { epoch, head } = await say({});
    await say({ epoch, applied: head, known: head });
  };
  const need = "incomplete mesh/istio-ambient (missing; ztunnel, Istio's proxy on each node";
  assert.ok((await state()).startsWith(need), await state());
  await beside("node1");
  assert.ok((await state()).startsWith(need), await state());
  await beside("node2");
  await until(() => isReleased(all), "the release");
});

test("the record and the Event of a pod name the sender, and the object that shows it", async () => {
  const heard: TerminationView[] = [];
  const { all, state } = await withdrawn(({ api }) => withSidecar(api), {
    listeners: [(termination) => void heard.push(termination)],
  });
  await using _ = all;
  assert.match(await state(), /^incomplete/);
  const [termination] = heard;
  assert.ok(termination);
  const followed = new FollowedTerminations(Date.now, Date.now).hear(termination, "ended");
  const report = describeTermination(termination, followed);
  const reason = "Istio's sidecars, as Pod other/client shows; 30 s are assumed";
  assert.deepEqual(
    report.consumers.filter((one) => one.state === "missing"),
    [{ name: "mesh/istio", kind: "mesh", state: "missing", reason }],
  );
  assert.ok(report.unknown.includes(`released: nothing reports for mesh/istio (${reason})`));
  assert.deepEqual(
    eventOf(report).find((one) => one.reason === "DrainConsumerMissing")?.message,
    `pod web-1 is sent to by mesh/istio (${reason}), for which nothing reports`,
  );
});

async function statusOf({ metricsPort }: Coordinating): Promise<{ readonly services: unknown }> {
  return (await (await fetch(`http://127.0.0.1:${metricsPort}/status`)).json()) as { services: unknown };
}

test("the status says how many Services have a sender for which nothing reports, and by what it is known", async () => {
  const { all } = await withdrawn(({ api }) => {
    httpProxy(api);
    api.put("services", "db", { metadata, spec: { clusterIP: "10.96.0.2" } });
  });
  await using _ = all;
  const contour = {
    need: "proxy/contour",
    who: "Envoy of Contour",
    shownBy: "HTTPProxy shop/web",
    assumedSeconds: 10,
    services: 1,
  };
  assert.deepEqual((await statusOf(all)).services, { services: 2, incomplete: 1, senders: [contour] });
  withSidecar(all.api);
  const istio = {
    need: "mesh/istio",
    who: "Istio's sidecars",
    shownBy: "Pod other/client",
    assumedSeconds: 30,
    services: 2,
  };
  let found: unknown;
  while ((found as { incomplete: number } | undefined)?.incomplete !== 2)
    found = (await statusOf(all)).services;
  assert.deepEqual(found, { services: 2, incomplete: 2, senders: [istio, contour] });
});

for (const [installed, expected] of [
  [true, "incomplete httpproxies.projectcontour.io (unread)"],
  [false, "released"],
] as const)
  test(`a kind that may not be listed ${installed ? "keeps pods from a release" : "costs nothing"} where it is ${installed ? "" : "not "}installed`, async () => {
    const group = {
      name: "projectcontour.io",
      versions: [{ version: "v2" }],
      preferredVersion: { version: "v2" },
    };
    const { all, state } = await withdrawn(({ api }) => {
      api.fault = ({ resource, url }) => {
        if (url.pathname === "/apis") return { status: 200, body: { groups: installed ? [group] : [] } };
        return resource.startsWith("projectcontour.io/")
          ? { status: 403, body: { reason: "Forbidden", message: "no" } }
          : undefined;
      };
    });
    await using _ = all;
    if (!installed) await until(() => isReleased(all), expected);
    assert.ok((await state()).startsWith(expected), await state());
    const asked = all.api.asked.filter(({ resource }) => resource.startsWith("projectcontour.io/"));
    assert.equal(asked.length > 0, installed);
    assert.ok(
      asked.every(({ url }) => url.pathname.startsWith("/apis/projectcontour.io/v2/")),
      "in the version that is served",
    );
    const unread = all.coordinator.status().unread?.map(({ resource }) => resource);
    assert.equal(unread?.includes("httpproxies.projectcontour.io"), installed);
  });
