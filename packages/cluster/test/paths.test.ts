import assert from "node:assert/strict";
import test from "node:test";
import type { Change } from "@lameduck/kube";
import { PathIndex, routeKinds, Routing, SlimPaths } from "../src/index.ts";
import { slimGrant } from "../src/paths/slim-paths.ts";

const there = <T>(object: T): Change<T> => ({ type: "there", object, at: 0, live: true, since: 0 });
const gone = <T>(object: T): Change<T> => ({ ...there(object), type: "gone" });
const metadataOf = (name: string, uid = name): { name: string; uid: string; namespace: string } => ({
  name,
  uid,
  namespace: "shop",
});
const byLabels = new SlimPaths({ asks: "by labels" });
const byServices = new SlimPaths({ asks: "by Services" });
const web = { metadata: metadataOf("web"), spec: { selector: { app: "web" }, clusterIP: "10.0.0.1" } };

test("each kind of route leads to its Service, for who asks by labels and for who asks by Services", () => {
  const spec = {
    ingressClassName: "edge",
    parentRefs: [{ name: "edge" }, { kind: "Service", name: "web" }],
    rules: [
      { http: { paths: [{ backend: { service: { name: "web" } } }, { backend: {} }] } },
      { backendRefs: [{ name: "web" }, { kind: "Other", name: "web2" }] },
    ],
  };
  for (const kind of routeKinds) {
    const route = { metadata: metadataOf("r"), spec };
    const index = new PathIndex();
    const service = byLabels.service(web);
    assert.ok(service);
    index.service(there(service));
    index.route(there(byLabels.route(kind)(route)));
    assert.deepEqual(
      index.pathsTo("shop", { app: "web" }).exposedBy,
      ["Service web", `${kind.kind} r`],
      kind.name,
    );
    const routing = new Routing();
    const slim = byServices.service(web);
    assert.ok(slim);
    routing.service(there(slim), 0);
    routing.gateway(there({ metadata: metadataOf("edge"), gatewayClass: "edge" }), 0);
    routing.route(there(byServices.route(kind)(route)), 0);
    const { throughNodes, requiredReporters } = routing.of(["shop/web"]);
    assert.deepEqual(
      [throughNodes, requiredReporters],
      [true, [`${kind.isBuiltIn ? "ingress" : "gateway"}-class/edge`]],
    );
  }
});

test("what no question needs is not kept: selectors and convergences, or who sends by a route", () => {
  const [ingress] = routeKinds;
  assert.ok(ingress);
  const route = { metadata: metadataOf("r"), spec: { ingressClassName: "edge" } };
  assert.deepEqual(byServices.service(web)?.selector, []);
  assert.equal(byServices.service(web)?.convergence, undefined);
  assert.deepEqual(byServices.route(ingress)(route).through, ["ingress-class/edge"]);
  assert.deepEqual(byLabels.service(web)?.selector, [["app", "web"]]);
  assert.ok(byLabels.route(ingress)(route).convergence);
  assert.deepEqual(byLabels.route(ingress)(route).through, []);
  // Somebody else keeps the endpoints of a Service without a selector; the Service itself still leads to them.
  const unselecting = { metadata: metadataOf("own"), spec: { clusterIP: "None" } };
  assert.equal(byLabels.service(unselecting), undefined);
  assert.equal(byServices.service(unselecting)?.isHeadless, true);
});

test("the end of a Service takes nothing from another that has its name by now", () => {
  const [before, after] = ["old", "new"].map((uid) =>
    byLabels.service({ ...web, metadata: metadataOf("web", uid) }),
  );
  assert.ok(before && after);
  const index = new PathIndex();
  for (const change of [there(before), there(after), gone(before)]) index.service(change);
  assert.equal(index.serviceAt("shop/web")?.metadata.uid, "new");
  index.service(gone(after));
  assert.deepEqual(index.selecting("shop", { app: "web" }), []);
});

test("a kind of another API group is another kind: as the backend of a route, and in a ReferenceGrant; its Gateway is waited for", () => {
  const group = "gateway.networking.k8s.io";
  const kind = routeKinds.find((one) => one.kind === "HTTPRoute");
  const service = byLabels.service(web);
  assert.ok(kind && service);
  const leads = (backend: object, from: object, to: object): boolean => {
    const index = new PathIndex();
    index.service(there(service));
    const spec = { rules: [{ backendRefs: [{ name: "web", namespace: "shop", ...backend }] }] };
    const metadata = { ...metadataOf("r"), namespace: "gateways" };
    index.route(there(byLabels.route(kind)({ metadata, spec })));
    const granted = {
      from: [{ kind: "HTTPRoute", namespace: "gateways", ...from }],
      to: [{ kind: "Service", ...to }],
    };
    index.grant(there(slimGrant({ metadata: metadataOf("g"), spec: granted })));
    return index.routesTo("shop/web").length > 0;
  };
  const other = { group: "other.example" };
  for (const [backend, from, to, expected] of [
    [{}, { group }, { group: "" }, true],
    [{ group: "", kind: "Service" }, { group }, { group: "" }, true],
    [{ ...other, kind: "Service" }, { group }, { group: "" }, false],
    [{}, other, { group: "" }, false],
    [{}, { group }, other, false],
  ] as const)
    assert.equal(leads(backend, from, to), expected, JSON.stringify([backend, from, to]));
  const parentRefs = [
    { name: "a" },
    { group, kind: "Gateway", name: "b" },
    { ...other, kind: "Gateway", name: "c" },
  ];
  const { through } = byServices.route(kind)({ metadata: metadataOf("r"), spec: { parentRefs } });
  assert.deepEqual(through, ["gateway/shop/a", "gateway/shop/b", "gateway/shop/c"]);
});
