import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FormerPaths } from "../../cluster/src/paths/former-paths.ts";
import { Model, routeOf, there } from "./model.ts";

/** One node, and one proxy of class nginx. Pod a is behind Service shop/web, to which the Ingress leads. */
function behindIngress(): Model {
  const model = new Model();
  model.node("node1");
  model.ingress(["shop/web"]);
  model.pod("a");
  model.publish("a", true);
  model.report("node1", 0);
  model.report("edge", 0, { kind: "nginx", node: undefined });
  model.synced();
  return model;
}

function terminate(model: Model): void {
  model.pod("a", true);
  model.publish("a", false);
  model.report("node1", 1);
}

describe("what has led to a pod a moment ago is waited for", () => {
  it("a pod waits for the proxies of an Ingress that is deleted together with it", () => {
    const model = behindIngress();
    model.pod("a", true);
    model.ingressGone();
    model.publish("a", false);
    model.report("node1", 1);
    assert.equal(model.state("a"), "waiting", "the ingress proxy has applied nothing yet");
    model.report("edge", 1, { kind: "nginx", node: undefined });
    assert.equal(model.state("a"), "released");
  });

  it("a pod waits for the proxies of an Ingress that has just been switched to other pods, as of a blue-green switch", () => {
    const model = behindIngress();
    model.ingress(["shop/green"]);
    model.pass(1_000);
    terminate(model);
    assert.equal(model.state("a"), "waiting");
    model.report("edge", 1, { kind: "nginx", node: undefined });
    assert.equal(model.state("a"), "released");
  });

  it("a pod waits for the former class of its Gateway, and for the former default class of Ingresses", () => {
    const ofClass = (gatewayClass: string): void =>
      model.routing.gateway(
        there({ metadata: { name: "g", uid: "g", namespace: "shop" }, gatewayClass }),
        model.now,
      );
    const ofDefault = (name: string, isDefault: boolean): void =>
      model.routing.ingressClass(there({ metadata: { name, uid: name }, isDefault }), model.now);
    const model = new Model();
    model.node("node1");
    ofClass("old");
    ofDefault("nginx", true);
    model.route(routeOf("HTTPRoute", "r", ["shop/web"], ["gateway/shop/g"]));
    model.route(routeOf("Ingress", "i", ["shop/web"], ["the default ingress class"]));
    ofClass("new");
    ofDefault("nginx", false);
    ofDefault("haproxy", true);
    const needs = ["gateway-class/old", "gateway-class/new", "ingress-class/nginx", "ingress-class/haproxy"];
    const led = (): readonly string[] => model.routing.of(["shop/web"]).requiredReporters.toSorted();
    assert.deepEqual(led(), needs.toSorted());
    model.now += 60_000;
    model.routing.forget(model.now);
    assert.deepEqual(led(), ["gateway-class/new", "ingress-class/haproxy"]);
  });

  it("a pod waits no longer for an Ingress that was deleted a minute ago", () => {
    const model = behindIngress();
    model.ingressGone();
    model.pass(60_000);
    terminate(model);
    assert.equal(model.state("a"), "released");
  });

  it("a pod waits for clients that know it by the name of a headless Service that is deleted", () => {
    const model = new Model({ dnsTtlSeconds: 5 });
    model.service(true);
    model.node("node1");
    model.pod("a");
    model.publish("a", true);
    model.report("node1", 0);
    model.synced();
    model.serviceGone();
    terminate(model);
    assert.equal(model.state("a"), "waiting", "a client may keep the address");
    model.pass(6_000);
    assert.equal(model.state("a"), "released");
  });

  it("a pod waits for the load balancer of a Service that has lost its annotation", () => {
    const model = new Model();
    model.service(false, ["load-balancer/gcp"]);
    model.node("node1");
    model.pod("a");
    model.publish("a", true);
    model.report("node1", 0);
    model.synced();
    model.service(false);
    terminate(model);
    assert.equal(model.state("a"), "incomplete", "nobody reports for the load balancer");
  });

  it("what has led to a pod counts as long as it is assumed to send, where that is longer than a minute", () => {
    const model = new Model();
    const balancer = "load-balancer/aws/shop/web";
    const led = (): readonly string[] => model.routing.of(["shop/web"]).requiredReporters;
    model.service(false, [balancer]);
    model.service(false);
    // One that ends sooner, although it is added later.
    model.ingress(["shop/web"]);
    model.ingressGone();
    model.now += 60_000;
    model.routing.forget(model.now);
    assert.deepEqual(led(), [balancer]);
    model.now += 59_000;
    model.routing.forget(model.now);
    assert.deepEqual(led(), [balancer]);
    model.now += 1_000;
    model.routing.forget(model.now);
    assert.deepEqual(led(), []);
  });
});

it("a Service that is made anew under its name stays when the end of the former Service is heard of", () => {
  const model = new Model({ dnsTtlSeconds: 5 });
  model.service(true, [], "new");
  model.serviceGone("web");
  model.node("node1");
  model.pod("a");
  model.publish("a", true);
  model.synced(100_000);
  model.pod("a", true);
  model.publish("a", false);
  assert.equal(model.state("a"), "waiting");
  model.pass(6_000);
  assert.equal(model.state("a"), "released", "by name alone: no node counts");
});

it("the former paths of a namespace that changes without end are bounded, and those left out count as too many", () => {
  const leads = new FormerPaths();
  for (let at = 0; at < 10_000; at++) leads.add(`shop/web-${at}`, "ingress-class/nginx", at / 10_000);
  leads.add("quiet/web", "ingress-class/nginx", 1);
  const known = (service: string): string[] => [...leads.of(service)];
  assert.deepEqual(known("shop/web-0"), ["ingress-class/nginx", "objects-left-out"]);
  assert.deepEqual(known("shop/web-9999"), ["objects-left-out"]);
  assert.deepEqual(known("quiet/web"), ["ingress-class/nginx"]);
  assert.equal(leads.forget(60_000.9999), true);
  assert.deepEqual(known("shop/web-0"), []);
  assert.equal(leads.forget(60_000.9999), false);
  assert.deepEqual(known("quiet/web"), ["ingress-class/nginx"]);
});
