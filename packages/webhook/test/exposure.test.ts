import assert from "node:assert/strict";
import test from "node:test";
import { audit, convergenceOf, imagesOf, nothingSuppressed } from "@lameduck/audit";
import { architecturesOf } from "../src/index.ts";
import { ClusterView } from "../src/cluster-view.ts";
import { OperatorApi, until } from "../../cluster/test/operator-api.ts";

interface Viewed extends AsyncDisposable {
  readonly api: OperatorApi;
  readonly view: ClusterView;
  readonly problems: string[];
}

async function viewed(fill: (api: OperatorApi) => void = () => undefined): Promise<Viewed> {
  const api = await OperatorApi.start();
  fill(api);
  const client = api.client();
  const problems: string[] = [];
  const view = new ClusterView(client, {
    retryMs: 20,
    onProblem: (part, error) => problems.push(`${part}: ${String(error)}`),
  });
  view.start();
  return {
    api,
    view,
    problems,
    [Symbol.asyncDispose]: async () => {
      await view.stop();
      client.close();
      await api.stop();
    },
  };
}

const service = (
  namespace: string,
  selector: object | undefined,
  spec: object = {},
): { metadata: object; spec: object } => ({
  metadata: { namespace, managedFields: ["x".repeat(500)] },
  spec: { ...(selector ? { selector } : {}), clusterIP: "10.0.0.1", ...spec },
});
/** Lets HTTPRoutes of a namespace lead to Services of `shop`. */
function grant(api: OperatorApi, namespace: string, to: { readonly name?: string }): void {
  api.remove("gateway.networking.k8s.io/referencegrants", "routes");
  api.put("gateway.networking.k8s.io/referencegrants", "routes", {
    metadata: { namespace: "shop" },
    spec: {
      from: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace }],
      to: [{ group: "", kind: "Service", ...to }],
    },
  });
}
const by = (view: ClusterView, labels: Record<string, string>): readonly string[] | undefined =>
  view.pathsTo("shop", labels)?.exposedBy;

test("a pod is exposed by Services of its namespace, and by what leads to them", async () => {
  await using all = await viewed((api) => {
    api.put("services", "web", service("shop", { app: "web" }));
    api.put("services", "narrow", service("shop", { app: "web", tier: "front" }));
    api.put("services", "elsewhere", service("other", { app: "web" }));
    api.put("services", "no-selector", service("shop", undefined));
    api.put("services", "external", service("shop", { app: "web" }, { type: "ExternalName" }));
    api.put("networking.k8s.io/ingresses", "shop", {
      metadata: { namespace: "shop" },
      spec: { rules: [{ http: { paths: [{ backend: { service: { name: "web" } } }] } }] },
    });
    api.put("gateway.networking.k8s.io/httproutes", "outside", {
      metadata: { namespace: "gateways" },
      spec: { rules: [{ backendRefs: [{ name: "web", namespace: "shop" }] }] },
    });
    grant(api, "gateways", {});
  });
  const { view, api } = all;
  await until(
    () => view.notReady() === undefined && (by(view, { app: "web" })?.length ?? 0) === 3,
    "everything read",
  );
  assert.deepEqual(by(view, { app: "web" }), ["Service web", "HTTPRoute outside", "Ingress shop"]);
  assert.deepEqual(by(view, { app: "web", tier: "front" })?.toSorted(), [
    "HTTPRoute outside",
    "Ingress shop",
    "Service narrow",
    "Service web",
  ]);
  assert.deepEqual(by(view, { app: "db" }), []);
  assert.ok((view.pathsTo("shop", { app: "web" })?.convergence?.value ?? 0) >= 10);
  api.change("services", "web", { spec: { selector: { app: "other" } } });
  await until(() => by(view, { app: "web" })?.length === 0, "the selector changed");
  api.remove("networking.k8s.io/ingresses", "shop");
  await until(
    () => by(view, { app: "other" })?.join() === "Service web,HTTPRoute outside",
    "the Ingress is gone",
  );
});

test("a route of another namespace counts only where a ReferenceGrant lets it", async () => {
  await using all = await viewed((api) => {
    api.put("services", "web", service("shop", { app: "web" }));
    api.put("gateway.networking.k8s.io/httproutes", "outside", {
      metadata: { namespace: "gateways" },
      spec: { rules: [{ backendRefs: [{ name: "web", namespace: "shop" }] }] },
    });
    api.put("gateway.networking.k8s.io/httproutes", "inside", {
      metadata: { namespace: "shop" },
      spec: { rules: [{ backendRefs: [{ name: "web" }] }] },
    });
  });
  const { view, api } = all;
  const shows = (...expected: string[]): Promise<void> =>
    until(() => by(view, { app: "web" })?.join() === expected.join(), expected.join());
  await shows("Service web", "HTTPRoute inside");
  grant(api, "gateways", { name: "web" });
  await shows("Service web", "HTTPRoute inside", "HTTPRoute outside");
  grant(api, "gateways", { name: "other" });
  await shows("Service web", "HTTPRoute inside");
  grant(api, "elsewhere", {});
  await shows("Service web", "HTTPRoute inside");
  grant(api, "gateways", {});
  await shows("Service web", "HTTPRoute inside", "HTTPRoute outside");
  api.remove("gateway.networking.k8s.io/referencegrants", "routes");
  await shows("Service web", "HTTPRoute inside");
});

test("the controller of its class tells who sends by an Ingress, as the audit and `lameduck inject` know it", async () => {
  const objects = [
    ["services", { apiVersion: "v1", kind: "Service", ...service("shop", { app: "web" }) }],
    [
      "networking.k8s.io/ingresses",
      {
        apiVersion: "networking.k8s.io/v1",
        kind: "Ingress",
        metadata: {
          namespace: "shop",
          annotations: { "alb.ingress.kubernetes.io/target-type": "ip" },
        },
        spec: { defaultBackend: { service: { name: "web" } } },
      },
    ],
    [
      "networking.k8s.io/ingressclasses",
      {
        apiVersion: "networking.k8s.io/v1",
        kind: "IngressClass",
        metadata: { annotations: { "ingressclass.kubernetes.io/is-default-class": "true" } },
        spec: { controller: "ingress.k8s.aws/alb" },
      },
    ],
  ] as const;
  await using all = await viewed((api) => {
    for (const [path, object] of objects) api.put(path, "web", object);
  });
  const found = () => all.view.pathsTo("shop", { app: "web" })?.convergence?.origin;
  await until(() => found() === "AWS ALB (IP targets)", "the class");
  const labels = { app: "web" };
  const spec = { containers: [{ name: "web", image: "web" }] };
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { namespace: "shop", labels }, spec };
  const text = [pod, ...objects.map(([, object]) => object)]
    .map((one) => JSON.stringify({ ...one, metadata: { ...one.metadata, name: "web" } }))
    .join("\n---\n");
  const { inventory } = audit([{ name: "all.yaml", text }], {
    images: imagesOf([]),
    facts: {},
    kubernetes: undefined,
    suppressions: nothingSuppressed,
  });
  assert.deepEqual(
    inventory.workloads.map((one) => convergenceOf(one, {})?.sender?.name),
    [found()],
  );
  all.api.remove("networking.k8s.io/ingressclasses", "web");
  await until(() => found() === "ingress proxy", "the class is gone");
});

test("the slowest sender decides the convergence of a pod", async () => {
  await using all = await viewed((api) => {
    api.put("services", "web", service("shop", { app: "web" }));
    api.put("services", "balanced", {
      metadata: {
        namespace: "shop",
        annotations: { "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type": "ip" },
      },
      spec: { selector: { app: "web" }, type: "LoadBalancer" },
    });
  });
  await until(() => all.view.notReady() === undefined, "everything read");
  assert.deepEqual(all.view.pathsTo("shop", { app: "web" })?.convergence, {
    value: 120,
    origin: "AWS NLB (IP targets)",
  });
});

test("objects of other API groups, and a mesh that a namespace shows, decide the convergence of a pod, too", async () => {
  await using all = await viewed((api) => {
    api.put("services", "web", service("shop", { app: "web" }));
    api.put("services", "db", service("shop", { app: "db" }));
    api.put("elbv2.k8s.aws/targetgroupbindings", "tg", {
      metadata: { namespace: "shop" },
      spec: { serviceRef: { name: "web" }, targetType: "ip" },
    });
    api.put("crd.projectcalico.org/felixconfigurations", "default", { spec: { bpfEnabled: true } });
  });
  const convergence = (app: string): unknown => all.view.pathsTo("shop", { app })?.convergence;
  await until(() => all.view.isRead, "everything read");
  assert.deepEqual(by(all.view, { app: "web" }), ["Service web", "TargetGroupBinding tg"]);
  const ofAws = { value: 120, origin: "a load balancer of AWS with pods as targets" };
  assert.deepEqual(convergence("web"), ofAws);
  assert.deepEqual(convergence("db"), { value: 10, origin: "kube-proxy" });
  all.api.put("namespaces", "clients", { metadata: { labels: { "istio.io/dataplane-mode": "ambient" } } });
  const ofMesh = { value: 30, origin: "ztunnel, Istio's proxy on each node" };
  await until(() => JSON.stringify(convergence("db")) === JSON.stringify(ofMesh), "the mesh");
  assert.deepEqual(convergence("web"), ofAws);
  assert.equal(convergence("other"), undefined, "no Service leads to it");
});

test("the view of the cluster is not ready and answers nothing until the Services are read", async () => {
  await using api = await OperatorApi.start();
  let failing = true;
  api.fault = ({ resource }) => (failing && resource === "services" ? { status: 503, body: {} } : undefined);
  const client = api.client();
  const view = new ClusterView(client, { retryMs: 20, onProblem: () => undefined });
  view.start();
  await until(() => view.notReady() === "not read yet: services", "the others");
  assert.equal(view.pathsTo("shop", {}), undefined);
  failing = false;
  await until(() => view.notReady() === undefined, "services");
  assert.deepEqual(view.pathsTo("shop", {})?.exposedBy, []);
  await view.stop();
  client.close();
});

test("the view of the cluster waits for no kind that is missing or may not be read, and tells of kinds that may not be read", async () => {
  await using api = await OperatorApi.start();
  api.fault = ({ resource }) => {
    if (resource.startsWith("lameduck.dev/") || resource.startsWith("gateway."))
      return { status: 404, body: { reason: "NotFound", message: "no such resource" } };
    return resource === "nodes"
      ? { status: 403, body: { reason: "Forbidden", message: "nodes is forbidden" } }
      : undefined;
  };
  const client = api.client();
  const problems: string[] = [];
  const view = new ClusterView(client, { retryMs: 20, onProblem: (part) => problems.push(part) });
  view.start();
  await until(() => view.notReady() === undefined && problems.length > 0, "ready all the same");
  assert.deepEqual([...new Set(problems)], ["nodes"]);
  assert.equal(view.architectures, undefined);
  await view.stop();
  client.close();
});

test("the view of the cluster follows labels of namespaces, policies and the processors of nodes", async () => {
  await using all = await viewed((api) => {
    api.put("namespaces", "shop", { metadata: { labels: { "lameduck.dev/inject": "enabled", big: "x" } } });
    api.put("namespaces", "plain");
    api.put("nodes", "n1", { metadata: { labels: { "kubernetes.io/arch": "amd64" } } });
    api.put("lameduck.dev/drainpolicies", "default", {
      metadata: { namespace: "shop" },
      spec: { capSeconds: 9 },
    });
  });
  const { view, api } = all;
  await until(() => view.notReady() === undefined, "everything read");
  assert.deepEqual([...(view.enabled() ?? [])], ["shop"]);
  assert.deepEqual(view.labelsOf("shop"), { "lameduck.dev/inject": "enabled" });
  assert.deepEqual(view.labelsOf("plain"), {});
  assert.equal(view.labelsOf("unknown"), undefined);
  assert.deepEqual(view.policyOf("shop")?.spec, { capSeconds: 9 });
  assert.deepEqual(view.architectures, ["amd64"]);
  api.change("namespaces", "shop", { metadata: { labels: { "lameduck.dev/inject": null } } });
  api.remove("lameduck.dev/drainpolicies", "default");
  api.put("nodes", "n2", { metadata: { labels: { "kubernetes.io/arch": "arm64" } } });
  await until(() => view.enabled()?.size === 0 && view.policyOf("shop") === undefined, "taken back");
  await until(() => view.architectures?.length === 2, "two processors");
});

test("processors without a binary are read as every processor that has a binary", () => {
  assert.equal(architecturesOf([]), undefined);
  assert.deepEqual(architecturesOf(["arm64", "arm64"]), ["arm64"]);
  assert.deepEqual(architecturesOf(["amd64", "s390x"]), ["amd64", "arm64"]);
  assert.deepEqual(architecturesOf(["s390x"]), []);
});
