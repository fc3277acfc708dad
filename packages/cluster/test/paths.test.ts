import assert from "node:assert/strict";
import test from "node:test";
import type { Change } from "@lameduck/kube";
import { PathIndex, routeKinds, recognisedKinds, Routing, SlimPaths } from "../src/index.ts";
import { slimGrant, slimIngressClass } from "../src/paths/slim-paths.ts";

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
    parentRefs: [
      { name: "edge" },
      { kind: "Service", group: "", name: "web" },
      { kind: "ListenerSet", name: "more" },
    ],
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
      [
        true,
        kind.isBuiltIn
          ? ["ingress-class/edge"]
          : ["gateway-class/edge", "mesh/service-routes", "gateway-class/unknown/ListenerSet/shop/more"],
      ],
    );
  }
});

test("an Ingress is served by the class that it names, wherever it names it", () => {
  const [ingress] = routeKinds;
  for (const [spec, annotations, through] of [
    [{ ingressClassName: "edge" }, {}, ["ingress-class/edge"]],
    [{}, { "kubernetes.io/ingress.class": "old" }, ["ingress-class/old"]],
    [{}, { "projectcontour.io/ingress.class": "own" }, ["ingress-class/own"]],
    [
      { ingressClassName: "edge" },
      { "projectcontour.io/ingress.class": "own" },
      ["ingress-class/edge", "ingress-class/own"],
    ],
    // The API server refuses two classes in a new Ingress, and lets them be changed afterwards.
    [
      { ingressClassName: "edge" },
      { "kubernetes.io/ingress.class": "old" },
      ["ingress-class/edge", "ingress-class/old"],
    ],
    [{}, {}, ["the default ingress class"]],
  ] as const)
    assert.deepEqual(ingress?.read({ metadata: { ...metadataOf("r"), annotations }, spec }).through, through);
});

test("an HTTPProxy leads to the Services of its routes or its TCP proxy, and whoever may serve a class that it names is waited for", () => {
  const kind = recognisedKinds.find((one) => one.kind === "HTTPProxy");
  assert.ok(kind);
  const routes = [{ services: [{ name: "web" }, { name: "mirror" }] }, {}];
  const annotations = { "projectcontour.io/ingress.class": "own", "kubernetes.io/ingress.class": "old" };
  const own = ["proxy/contour"];
  for (const [spec, notes, services, through] of [
    [{ routes }, {}, ["shop/web", "shop/mirror"], own],
    [{ routes: [], tcpproxy: { services: [{ name: "db" }] } }, {}, ["shop/db"], own],
    [{ includes: [{ name: "child" }], ingressClassName: "edge" }, {}, [], ["ingress-class/edge"]],
    [{ ingressClassName: "" }, {}, [], own],
    [
      { ingressClassName: "edge" },
      annotations,
      [],
      ["edge", "old", "own"].map((one) => `ingress-class/${one}`),
    ],
    [undefined, {}, [], own],
  ] as const) {
    const metadata = { ...metadataOf("r"), annotations: notes };
    const read = kind.read({ metadata, ...(spec === undefined ? {} : { spec }) } as never);
    assert.deepEqual(
      { services: [...read.services].sort(), through: [...read.through].sort() },
      {
        services: [...services].sort(),
        through,
      },
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

test("a headless Service shows how long its clients keep an address: by its annotation, or by gRPC", () => {
  const kept = (annotation: string | undefined, ...ports: readonly object[]): object | undefined =>
    byServices.service({
      metadata: {
        ...metadataOf("own"),
        ...(annotation === undefined ? {} : { annotations: { "lameduck.dev/dns-ttl-seconds": annotation } }),
      },
      spec: { clusterIP: "None", ports },
    })?.keptAddresses;
  assert.deepEqual(kept(undefined), {});
  assert.deepEqual(kept("0"), { stated: 0 });
  assert.deepEqual(kept("60", { appProtocol: "grpc" }), { stated: 60 }, "it knows its clients best");
  for (const unreadable of ["", "-1", "1.5", "30s", "3601", "99999", "__proto__"])
    assert.deepEqual(kept(unreadable, { name: "grpc" }), { least: 30 }, unreadable);
  for (const port of [{ appProtocol: "grpc" }, { appProtocol: "example.com/GRPC" }, { name: "grpc-api" }])
    assert.deepEqual(kept(undefined, { name: "http" }, port), { least: 30 });
  for (const port of [{ name: "grpcish" }, { name: "web-grpc" }, { appProtocol: "http" }, { name: null }])
    assert.deepEqual(kept(undefined, port), {});
  assert.equal(byServices.service(web)?.keptAddresses, undefined, "it has an address of its own");
});

test("how fast an Ingress is follows its class, while classes come and go", () => {
  const [kind] = routeKinds;
  const service = byLabels.service(web);
  assert.ok(kind && service);
  const [index, routing] = [new PathIndex(), new Routing()];
  const annotations = { "alb.ingress.kubernetes.io/target-type": "ip" };
  const rules = [{ http: { paths: [{ backend: { service: { name: "web" } } }] } }];
  const route = { metadata: { ...metadataOf("r"), annotations }, spec: { rules } };
  for (const one of [index, routing]) {
    one.service(there(service), 0);
    one.route(there(byServices.route(kind)(route)), 0);
  }
  const ofAlb = slimIngressClass({
    metadata: {
      ...metadataOf("public"),
      annotations: { "ingressclass.kubernetes.io/is-default-class": "true" },
    },
    spec: { controller: "ingress.k8s.aws/alb" },
  });
  const found = (): readonly unknown[] => [
    index.pathsTo("shop", { app: "web" }).convergence?.value,
    routing.convergenceOf(["shop/web"], "ingress-class/public"),
  ];
  assert.deepEqual(found(), [10, 10]);
  for (const one of [index, routing]) one.ingressClass(there(ofAlb), 0);
  assert.deepEqual(found(), [40, 40]);
  for (const one of [index, routing]) one.ingressClass(gone(ofAlb), 0);
  assert.deepEqual(found(), [10, 10]);
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
