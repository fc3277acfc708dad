import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Model, routeOf, there } from "./model.ts";

/** Two nodes that report, and Service shop/web with one pod that stays. */
function running(): Model {
  const model = new Model();
  for (const node of ["node1", "node2"]) model.node(node);
  model.pod("other");
  model.publish("other", true);
  for (const node of ["node1", "node2"]) model.report(node, 0);
  model.synced();
  return model;
}

function deleted(model: Model, pod: string): void {
  model.pod(pod, true);
  model.publish(pod, false);
}

/** Pod a behind another Service. */
function publishedIn(model: Model, service: string, isReady: boolean): void {
  const metadata = { name: service, uid: service, namespace: "shop" };
  const endpoints = [{ pod: "a", isReady, isTerminating: !isReady }];
  model.terminations.slice(there({ metadata, service: `shop/${service}`, endpoints }), model.now);
}

function allReport(model: Model): void {
  for (const node of ["node1", "node2"]) model.report(node, model.withdrawals.lastSequence);
}

describe("a young pod", () => {
  it("a young pod is not released before each proxy has had the time to add it, and consumers are asked about it then", () => {
    const model = running();
    model.pod("a");
    model.publish("a", true);
    model.pass(3_000);
    deleted(model, "a");
    allReport(model);
    assert.equal(model.state("a"), "waiting");
    const { progress, releases } = model.terminations;
    const assumed = (): number => releases.assumedMs(model.record("a"), model.now);
    assert.equal(assumed(), 10_000, "a proxy that adds it late removes it as late");
    const behind = () => progress.behind(model.record("a"), model.now);
    assert.deepEqual(behind(), [{ name: "all", how: "young" }]);
    model.pass(6_999);
    assert.equal(model.record("a").sequence, undefined);
    model.pass(1);
    assert.equal(model.record("a").sequence, 1, "consumers look now");
    assert.deepEqual(
      behind().map(({ name }) => name),
      ["kube-proxy/node1", "kube-proxy/node2"],
    );
    assert.equal(assumed(), 3_000);
    model.pass(3_000);
    assert.equal(assumed(), 0);
    allReport(model);
    assert.equal(model.state("a"), "released");
  });

  it("a young pod that no consumer will be asked about is told so, and is not told that it is young", () => {
    for (const [fields, how] of [
      [{ hostNetwork: true }, "host-network"],
      [{ phase: "Succeeded" }, "finished"],
      [{ phase: "Failed" }, "finished"],
    ] as const) {
      const model = running();
      model.pod("a", false, { ...fields, phase: "Running" });
      model.publish("a", true);
      model.pass(3_000);
      model.pod("a", true, fields);
      model.publish("a", false);
      for (const wait of [0, 60_000]) {
        model.pass(wait);
        assert.equal(model.state("a"), "incomplete", `${how} after ${wait} ms`);
        const { progress } = model.terminations;
        const behind = progress.behind(model.record("a"), model.now);
        assert.deepEqual(behind, [{ name: "all", how }]);
      }
      assert.equal(model.withdrawals.lastSequence, 0);
    }
  });

  it("a pod that was not ready for a moment is young again, because a proxy that lags shows earlier states", () => {
    const model = running();
    model.pod("a");
    model.publish("a", true);
    model.pass(60_000);
    model.publish("a", false, { isTerminating: false });
    model.pass(500);
    model.publish("a", true);
    model.pass(1_000);
    deleted(model, "a");
    allReport(model);
    assert.equal(model.state("a"), "waiting");
    model.pass(9_000);
    allReport(model);
    assert.equal(model.state("a"), "released");
  });

  it("a pod that has been published for longer than proxies need to add it is not young", () => {
    const model = running();
    model.pod("a");
    model.publish("a", true);
    model.pass(10_000);
    deleted(model, "a");
    assert.equal(model.record("a").sequence, 1);
  });

  it("every pod that a replica finds when it starts is young, because nothing shows how long it has been published", () => {
    for (const isDeletedBefore of [true, false]) {
      const model = new Model();
      for (const node of ["node1", "node2"]) model.node(node);
      for (const pod of ["other", "a"]) {
        model.pod(pod);
        model.publish(pod, true);
      }
      if (isDeletedBefore) deleted(model, "a");
      model.synced(3_000);
      if (!isDeletedBefore) deleted(model, "a");
      allReport(model);
      model.pass(6_999);
      assert.equal(model.record("a").sequence, undefined, `deleted before the start: ${isDeletedBefore}`);
      model.pass(1);
      allReport(model);
      assert.equal(model.state("a"), "released");
    }
  });

  it("every pod of a slice that a list has shown after the watch was lost is young, and consumers are asked about it again", () => {
    const model = running();
    model.pass(60_000);
    deleted(model, "a");
    model.report("node1", 1);
    assert.equal(model.state("a"), "waiting");
    model.publish("other", true, { live: false });
    model.report("node2", 1);
    assert.equal(model.state("a"), "waiting", "node1 may have taken it back meanwhile");
    model.pass(10_000);
    allReport(model);
    assert.equal(model.state("a"), "released");
  });

  it("a pod that a second Service has selected a moment ago is young", () => {
    const model = running();
    model.pod("a");
    model.publish("a", true);
    model.pass(60_000);
    publishedIn(model, "api", true);
    model.pass(3_000);
    model.pod("a", true);
    publishedIn(model, "api", false);
    model.publish("a", false);
    allReport(model);
    assert.equal(model.state("a"), "waiting");
    model.pass(7_000);
    allReport(model);
    assert.equal(model.state("a"), "released");
  });

  it("a pod is young while the Ingress to its Service is new, also where the pod was withdrawn before the Ingress came", () => {
    for (const isDeletedBefore of [true, false]) {
      const model = running();
      model.pod("a");
      model.publish("a", true);
      model.pass(60_000);
      const edge = (applied: number): void =>
        model.report("edge", applied, { kind: "nginx", node: undefined });
      if (isDeletedBefore) deleted(model, "a");
      edge(model.withdrawals.lastSequence);
      model.ingress(["shop/web"]);
      if (!isDeletedBefore) deleted(model, "a");
      allReport(model);
      edge(model.withdrawals.lastSequence);
      assert.equal(model.state("a"), "waiting", `deleted before: ${isDeletedBefore}`);
      model.pass(10_000);
      const { sequence = 0 } = model.record("a");
      allReport(model);
      assert.equal(model.state("a"), "waiting", "the proxy of the Ingress has not looked again");
      edge(sequence);
      assert.equal(model.state("a"), "released");
      model.ingress(["shop/web"], "second");
      assert.equal(model.state("a"), "released", "what is released stays so");
    }
  });

  it("a pod is young while a second Gateway to its Service is new, because that Gateway may have proxies of its own", () => {
    for (const [gateways, isAsked] of [
      [["shop/one"], true],
      [["shop/one", "shop/two"], false],
      [["shop/one", "shop/none"], true],
    ] as const) {
      const model = running();
      const route = (name: string, to: readonly string[]): void =>
        model.route(
          routeOf(
            "HTTPRoute",
            name,
            ["shop/web"],
            to.map((one) => `gateway/${one}`),
          ),
        );
      for (const name of ["one", "two"])
        model.routing.gateway(
          there({ metadata: { name, uid: name, namespace: "shop" }, gatewayClass: "envoy" }),
          model.now,
        );
      route("first", ["shop/one"]);
      model.pod("a");
      model.publish("a", true);
      model.pass(60_000);
      route("second", gateways);
      model.pass(1_000);
      deleted(model, "a");
      assert.equal(model.record("a").sequence !== undefined, isAsked, gateways.join());
    }
  });

  it("a pod is young while the proxy of its node may choose it again, because no other pod is ready there", () => {
    for (const [isLocal, number] of [
      [false, 1],
      [true, undefined],
    ] as const) {
      const model = running();
      model.service(false, [], "web", isLocal);
      const publish = (pod: string, isReady: boolean): void =>
        model.publish(pod, isReady, { node: ["a", "b"].includes(pod) ? "node0" : "node1" });
      for (const pod of ["a", "b", "c", "other"]) {
        model.pod(pod);
        publish(pod, true);
      }
      model.pass(60_000);
      model.pod("a", true);
      publish("a", false);
      for (const pod of ["c", "other"]) publish(pod, false);
      model.pass(1_000);
      assert.equal(model.record("a").sequence, 1, "another node has no ready endpoint");
      model.pass(1_000);
      publish("c", true);
      publish("b", false);
      model.pass(1_000);
      assert.equal(model.record("a").sequence, number, `local: ${isLocal}`);
    }
  });

  it("a pod that its Service has moved from one slice to another is young after two changes, but not after one", () => {
    const model = running();
    const slice = (name: string, isReady: boolean): void => {
      const endpoints = isReady ? [{ pod: "a", isReady, isTerminating: false }] : [];
      const metadata = { name, uid: name, namespace: "shop" };
      const object = { metadata, service: "shop/web", endpoints };
      model.terminations.slice({ type: "there", object, at: 0, live: true, since: 0 }, model.now);
    };
    model.pod("a");
    slice("one", true);
    model.pass(20_000);
    slice("two", true);
    slice("one", false);
    model.pod("a", true);
    slice("two", false);
    assert.equal(model.record("a").sequence, 1);
  });

  it("a young pod that only clients by DNS know is not waited for, because such clients have no rules", () => {
    const model = running();
    model.service(true);
    model.pass(60_000);
    model.pod("a");
    model.publish("a", true);
    model.pass(1_000);
    deleted(model, "a");
    assert.equal(model.state("a"), "waiting");
    model.pass(31_000);
    assert.equal(model.state("a"), "released");
  });
});
