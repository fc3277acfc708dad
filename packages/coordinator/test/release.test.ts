import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { slimPod, slimSlice } from "@lameduck/cluster";
import { HalfReadProxies } from "../src/state/half-read.ts";
import { Model, there } from "./model.ts";

/** Two nodes that report, and one pod that is terminating and withdrawn. */
function withdrawn(
  acknowledgements: object = {},
  nodes: readonly string[] = ["node1", "node2"],
  prepare: (model: Model) => void = () => undefined,
): Model {
  const model = new Model(acknowledgements);
  prepare(model);
  for (const node of nodes) model.node(node);
  model.pod("a");
  model.publish("a", true);
  for (const node of nodes) model.report(node, 0);
  model.synced();
  model.pod("a", true);
  model.publish("a", false);
  return model;
}

describe("a withdrawal", () => {
  it("a withdrawal is numbered when every EndpointSlice has let go of the pod, not at the deletion", () => {
    const model = new Model();
    model.node("node1");
    model.pod("a");
    model.publish("a", true);
    model.synced();
    model.pod("a", true);
    assert.equal(model.record("a").sequence, undefined);
    model.publish("a", true, { isTerminating: true });
    assert.equal(model.state("a"), "incomplete", "it is published although it terminates");
    model.publish("a", false);
    assert.deepEqual([model.record("a").sequence, model.withdrawals.lastSequence], [1, 1]);
  });

  it("a withdrawal does not depend on slices in other namespaces, because whoever may write them can list any address", () => {
    const model = new Model();
    model.node("node1");
    model.report("node1", 0);
    model.pod("a");
    model.publish("a", true);
    const endpoints = [{ pod: "a", isReady: true, isTerminating: true }];
    const metadata = { name: "foreign", uid: "foreign", namespace: "other" };
    model.terminations.slice(there({ metadata, service: "other/web", endpoints }), model.now);
    model.synced();
    model.pod("a", true);
    model.publish("a", false);
    model.report("node1", 1);
    assert.equal(model.state("a"), "released");
  });

  it("a withdrawal waits for a slice that is kept by hand, and lists the pod by its address alone", () => {
    const model = new Model();
    model.node("node1");
    model.report("node1", 0);
    model.pod("a", false, { address: "fd00::5" });
    model.publish("a", true);
    const slice = (addresses: readonly string[]): void => {
      const metadata = { name: "own", uid: "own", namespace: "shop" };
      model.terminations.slice(there(slimSlice({ metadata, endpoints: [{ addresses }] })), model.now);
    };
    slice(["fd00:0::5", "fd00::6"]);
    model.synced();
    model.pod("a", true, { address: "fd00::5" });
    model.publish("a", false);
    assert.equal(model.record("a").sequence, undefined);
    slice(["fd00::6"]);
    assert.equal(model.record("a").sequence, 1);
    model.report("node1", 1);
    assert.equal(model.state("a"), "released");
  });

  it("a withdrawal is taken back where the pod is ready again, and is numbered anew later", () => {
    const model = withdrawn();
    for (const node of ["node1", "node2"]) model.report(node, 1);
    assert.equal(model.state("a"), "released");
    model.publish("a", true);
    assert.equal(model.state("a"), "waiting");
    assert.deepEqual([...model.withdrawals.after(0)], []);
    model.pass(10_000);
    model.publish("a", false);
    assert.equal(model.record("a").sequence, 2);
    assert.equal(model.state("a"), "waiting");
  });

  it("a withdrawal is numbered anew where the last ready endpoint goes, because proxies then choose terminating endpoints again", () => {
    const model = new Model();
    for (const node of ["node1", "node2"]) model.node(node);
    for (const pod of ["a", "b", "c"]) {
      model.pod(pod);
      model.publish(pod, true);
    }
    for (const node of ["node1", "node2"]) model.report(node, 0);
    model.synced();
    for (const pod of ["a", "b"]) {
      model.pod(pod, true);
      model.publish(pod, false);
      model.report("node1", model.withdrawals.lastSequence);
    }
    assert.deepEqual([model.record("a").sequence, model.record("b").sequence], [1, 2]);
    model.pass(100);
    model.publish("c", false, { isTerminating: false });
    model.report("node2", 2);
    assert.equal(model.state("a"), "waiting", "what node1 has said is over");
    model.publish("c", true);
    model.pass(9_000);
    assert.equal(
      model.record("a").sequence,
      undefined,
      "a proxy that lags may have let go, and choose it again",
    );
    model.pass(1_000);
    assert.deepEqual([model.record("a").sequence, model.record("b").sequence], [3, 4]);
    for (const node of ["node1", "node2"]) model.report(node, 4);
    assert.equal(model.state("a"), "released");
  });

  it("the withdrawal of the only pod of a Service costs no more where many others terminate", (t) => {
    const model = new Model();
    model.node("node1");
    const pods = Array.from({ length: 1_000 }, (_, at) => `p${at}`);
    const publish = (pod: string, isReady: boolean): void => {
      const metadata = { name: pod, uid: pod, namespace: "shop" };
      const endpoints = [{ pod, isReady, isTerminating: !isReady }];
      model.terminations.slice(there({ metadata, service: `shop/${pod}`, endpoints }), model.now);
    };
    for (const pod of pods) {
      model.pod(pod);
      publish(pod, true);
    }
    model.synced();
    for (const pod of pods) model.pod(pod, true);
    const { mock } = t.mock.method(model.terminations.listings, "servicesOf");
    const pinned = t.mock.method(model.terminations.listings, "publishesNotReady");
    for (const pod of pods) publish(pod, false);
    model.terminations.decide(model.now);
    assert.equal(model.withdrawals.lastSequence, 1_000);
    assert.ok(mock.callCount() <= 2_000, `${mock.callCount()} look-ups`);
    pinned.mock.resetCalls();
    model.pass(10_000);
    assert.equal(pinned.mock.callCount(), 0, "nothing has changed");
  });

  it("a withdrawal that is found at the start counts, and no withdrawal is numbered before everything was read", () => {
    const model = new Model();
    model.node("node1");
    model.pod("a", true);
    model.publish("a", false);
    assert.equal(model.withdrawals.lastSequence, 0);
    model.terminations.synced(model.now);
    assert.equal(model.record("a").sequence, undefined, "it may have been published a moment ago");
    model.pass(10_000);
    assert.equal(model.record("a").sequence, 1);
    assert.equal(model.state("a"), "incomplete", "and then they are missing");
    model.report("node1", 0);
    assert.equal(model.state("a"), "waiting");
    model.report("node1", 1);
    assert.equal(model.state("a"), "released");
  });

  it("a pod in the node's own network is never released, and no consumer is told of its withdrawal", () => {
    const model = new Model();
    model.node("node1");
    model.report("node1", 0);
    model.pod("a", false, { hostNetwork: true });
    model.publish("a", true);
    model.synced();
    model.pod("a", true, { hostNetwork: true });
    model.publish("a", false);
    assert.equal(model.state("a"), "incomplete");
    assert.equal(model.withdrawals.lastSequence, 0);
  });

  it("a pod with a port of its node is released only where the consumer for that port is declared", () => {
    for (const [external, state] of [
      [undefined, "incomplete"],
      ["http/edge", "released"],
    ] as const) {
      const model = new Model(external === undefined ? {} : { external });
      model.node("node1");
      model.report("node1", 0);
      model.pod("a", false, { hostPort: 8080 });
      model.publish("a", true);
      model.synced();
      model.pod("a", true, { hostPort: 8080 });
      model.publish("a", false);
      model.report("node1", 1);
      model.report("edge", 1, { kind: "http", node: undefined });
      assert.equal(model.state("a"), state);
    }
  });

  it("a sidecar among the init containers has a port of its node as long as the pod serves, another init container has not", () => {
    const portOf = (fields: object): boolean =>
      slimPod({
        metadata: { name: "a", uid: "a", namespace: "shop" },
        spec: {
          containers: [{ name: "app" }],
          initContainers: [{ name: "side", ports: [{ containerPort: 80, hostPort: 8080 }], ...fields }],
        },
      } as object as Parameters<typeof slimPod>[0]).hasHostPort;
    assert.deepEqual([portOf({ restartPolicy: "Always" }), portOf({})], [true, false]);
  });

  it("of the finalizers of a pod no more are kept than people can read", () => {
    const finalizers = ["x".repeat(1_000_000), ...Array.from({ length: 100 }, (_, at) => `a/${at}`)];
    const pod = slimPod({
      metadata: { name: "a", uid: "a", finalizers, deletionTimestamp: "2026-01-01T00:00:00Z" },
      spec: { containers: [] },
    });
    assert.deepEqual(pod.finalizers, finalizers.slice(1, 17));
  });

  it("a withdrawal tells the address that a pod got after it was first asked about", () => {
    const model = new Model();
    model.node("node1");
    model.pod("a", false, { address: "" });
    model.synced();
    model.publish("a", true);
    model.pass(10_000);
    model.terminations.follow("a", model.now);
    model.pod("a");
    model.pod("a", true);
    model.publish("a", false);
    assert.deepEqual([...model.withdrawals.after(0)], [{ sequence: 1, addresses: ["ip-a"] }]);
  });

  it("a withdrawal is numbered anew with an address that was heard of late, because no consumer has looked for that address yet", () => {
    const model = new Model();
    model.node("node1");
    model.report("node1", 0);
    model.pod("a", false, { address: "" });
    model.synced();
    model.publish("a", false, { isTerminating: false });
    model.terminations.follow("a", model.now);
    model.report("node1", 1);
    assert.equal(model.state("a"), "released");
    model.pod("a", true);
    assert.equal(model.state("a"), "waiting");
    assert.deepEqual([...model.withdrawals.after(0)], [{ sequence: 2, addresses: ["ip-a"] }]);
    model.report("node1", 2);
    assert.equal(model.state("a"), "released");
  });
});

describe("who matters", () => {
  it("a node whose object was made anew may still send, although it is not Ready yet", () => {
    const model = withdrawn();
    model.report("node1", 1);
    model.nodeGone("node2");
    model.node("node2", false);
    assert.equal(model.state("a"), "waiting");
    model.report("node2", 1);
    assert.equal(model.state("a"), "released");
  });

  it("a pod that nothing leads to is not released, because nobody has consented", () => {
    const model = new Model();
    model.node("node1");
    model.report("node1", 0);
    model.synced();
    model.pod("a", true);
    assert.equal(model.state("a"), "incomplete");
  });

  it("a pod that no Service lists counts as unlisted, unless it has a port of its node or a consumer is declared", () => {
    const isUnlisted = (acknowledgements: object, isListed: boolean, hostPort?: number): boolean => {
      const model = new Model({ mode: "consistency", ...acknowledgements });
      model.synced(5_000);
      model.pod("a", true, { ...(hostPort && { hostPort }) });
      if (isListed) model.publish("a", false);
      assert.equal(model.terminations.isUnlisted(model.record("a"), model.now), false, "it may just be gone");
      model.pass(6_000);
      return model.terminations.isUnlisted(model.record("a"), model.now);
    };
    assert.equal(isUnlisted({}, false), true);
    assert.equal(isUnlisted({}, true), false);
    assert.equal(isUnlisted({}, false, 80), false);
    assert.equal(isUnlisted({ external: "http/cdn" }, false), false);
  });

  it("a pod is not unlisted where an EndpointSlice of its namespace is not kept, which may list it", () => {
    const model = new Model({ mode: "consistency" });
    model.synced();
    model.pod("a", true);
    const { terminations } = model;
    const isUnlisted = (): boolean => terminations.isUnlisted(model.record("a"), model.now);
    const cause = (): readonly unknown[] => [
      model.state("a"),
      terminations.progress.behind(model.record("a"), model.now)[0]?.name,
    ];
    assert.deepEqual(cause(), ["incomplete", "all"]);
    assert.equal(isUnlisted(), true);
    model.routing.leftOut("endpointslices", "shop");
    assert.equal(isUnlisted(), false);
    assert.deepEqual(cause(), ["incomplete", "objects-left-out"]);
    model.routing.listed("endpointslices", new Set(["other"]));
    assert.deepEqual(cause(), ["incomplete", "all"]);
    assert.equal(isUnlisted(), true);
  });

  it("a node that only its proxy has told of counts, until it must have been listed", () => {
    const model = withdrawn();
    model.report("node3", 0);
    for (const node of ["node1", "node2"]) model.report(node, 1);
    assert.equal(model.state("a"), "waiting");
    model.node("node3");
    assert.equal(model.nodes.all.length, 3);
    assert.equal(model.state("a"), "waiting");
    model.report("node3", 1);
    assert.equal(model.state("a"), "released");
  });

  it("a pod waits a minute for a node that is not listed, also where no consumer is left out for silence", () => {
    const model = withdrawn({ mode: "consistency" });
    for (const node of ["node1", "node2"]) model.report(node, 1);
    model.report("node3", 0);
    model.pass(50_000);
    assert.equal(model.state("a"), "waiting");
    model.pass(30_000);
    assert.equal(model.state("a"), "released");
  });

  it("a node that is gone does not come back because its proxy still reports", () => {
    const model = withdrawn();
    model.nodeGone("node2");
    model.report("node2", 0);
    model.report("node1", 1);
    assert.equal(model.state("a"), "released");
  });

  it("a node that joins the cluster during a hold must report, too", () => {
    const model = withdrawn();
    model.report("node1", 1);
    model.node("node3");
    model.report("node2", 1);
    assert.equal(model.state("a"), "incomplete", "nobody reports for it yet");
    model.report("node3", 0);
    assert.equal(model.state("a"), "waiting");
    model.report("node3", 1);
    assert.equal(model.state("a"), "released");
  });

  it("a node that is not Ready counts for a while, and a node that is gone does not count", () => {
    const model = withdrawn();
    model.report("node1", 1);
    model.node("node2", false);
    model.pass(9_000);
    assert.equal(model.state("a"), "waiting");
    model.report("node1", 1);
    model.pass(1_000);
    assert.equal(model.state("a"), "released");
    const other = withdrawn();
    other.report("node1", 1);
    other.nodeGone("node2");
    assert.equal(other.state("a"), "released");
  });

  it("clients that know a pod by name keep its address for the time of the DNS record, and a load balancer of the Service must report", () => {
    const model = withdrawn({ dnsTtlSeconds: 5 });
    model.service(true);
    for (const node of ["node1", "node2"]) model.report(node, 1);
    assert.equal(model.state("a"), "waiting");
    model.pass(5_900);
    assert.equal(model.state("a"), "waiting", "a DNS server hears of it as late");
    model.pass(100);
    assert.equal(model.state("a"), "released");
    const balanced = withdrawn({}, undefined, (one) => one.service(false, ["load-balancer/aws/shop/web"]));
    for (const node of ["node1", "node2"]) balanced.report(node, 1);
    assert.equal(balanced.state("a"), "incomplete");
    const aws = { kind: "aws", node: undefined };
    balanced.report("unsaid", 1, aws);
    balanced.report("other", 1, { ...aws, serves: ["load-balancer/aws/shop/other"] });
    assert.equal(balanced.state("a"), "incomplete", "each Service has a target group of its own");
    balanced.report("web", 1, { ...aws, serves: ["load-balancer/aws/shop/web"] });
    assert.equal(balanced.state("a"), "released");
  });

  for (const [kept, seconds, policy = { dnsTtlSeconds: 5 }] of [
    [{}, 30, {}],
    [{}, 5],
    [{ least: 30 }, 30],
    [{ least: 3 }, 5],
    [{ stated: 2 }, 2],
    [{ stated: 60 }, 60],
  ] as const)
    it(`clients of a headless Service that shows ${JSON.stringify(kept)} keep an address for ${seconds} s where the policy says ${JSON.stringify(policy)}`, () => {
      const model = withdrawn(policy, ["node1"], (one) => one.headless(kept));
      model.report("node1", 1);
      model.pass(seconds * 1_000 + 900);
      assert.equal(model.state("a"), "waiting");
      model.pass(100);
      assert.equal(model.state("a"), "released");
    });

  it("clients keep an address for as long as their Service said before it said less", () => {
    const model = withdrawn({}, ["node1"], (one) => one.headless({ stated: 20 }));
    model.report("node1", 1);
    model.headless({ stated: 1 });
    model.pass(20_900);
    assert.equal(model.state("a"), "waiting");
    model.pass(100);
    assert.equal(model.state("a"), "released");
  });

  it("a pod waits for all replicas of a declared consumer, and a consumer of another kind does not stand for them", () => {
    const model = withdrawn({ external: "traefik/edge" });
    for (const node of ["node1", "node2"]) model.report(node, 1);
    const serving = { kind: "traefik", node: undefined, serves: ["consumer/traefik/edge"] };
    model.report("cdn", 1, { ...serving, kind: "http" });
    assert.equal(model.state("a"), "incomplete");
    model.report("edge-7d-x", 1, serving);
    model.report("edge-7d-y", 0, serving);
    assert.equal(model.state("a"), "waiting");
    model.report("edge-7d-y", 1, serving);
    assert.equal(model.state("a"), "released");
  });

  it("an Ingress is served by consumers of its class, and a declared consumer is known by its name", () => {
    const model = withdrawn({ external: "http/cdn" }, undefined, (one) => one.ingress(["shop/web"]));
    for (const node of ["node1", "node2"]) model.report(node, 1);
    model.report("edge-1", 0, { kind: "nginx", node: undefined });
    assert.equal(model.state("a"), "incomplete");
    model.report("cdn", 1, { kind: "http", node: undefined });
    assert.equal(model.state("a"), "waiting");
    model.report("edge-2", 1, { kind: "nginx", node: undefined });
    assert.equal(model.state("a"), "waiting", "each proxy of the class");
    model.report("inner-1", 0, { kind: "nginx", node: undefined, serves: ["ingress-class/nginx-internal"] });
    model.report("edge-1", 1, { kind: "nginx", node: undefined });
    assert.equal(model.state("a"), "released");
  });

  it("a pod is told to hold on while a proxy says that it still may choose the pod, and no longer", () => {
    const model = withdrawn({}, undefined, (one) => one.ingress(["shop/web"]));
    const assumed = (): number => {
      const { terminations, now } = model;
      const one = terminations.follow("a", now);
      assert.ok(one);
      return terminations.releases.assumedMs(one, now);
    };
    model.report("node1", 1);
    model.report("node2", 0);
    model.report("edge", 0, { kind: "nginx", node: undefined });
    assert.equal(model.state("a"), "waiting");
    assert.ok(assumed() > 5_000, "longer than until the next question");
    model.report("edge", 1, { kind: "nginx", node: undefined });
    assert.equal(model.state("a"), "waiting");
    assert.equal(assumed(), 0, "what kube-proxies send are new connections, which the pod sees");
    model.report("node2", 1);
    assert.equal(model.state("a"), "released");
    assert.equal(assumed(), 0);
  });

  it("the time is assumed of a sender that its watcher cannot read, whatever else its watcher says", () => {
    const balancer = "load-balancer/aws/shop/web";
    for (const [what, assumed, sender] of [
      ["ingress-class/nginx", 10_000, { kind: "nginx", node: undefined }],
      [balancer, 120_000, { kind: "aws", node: undefined, serves: [balancer] }],
    ] as const) {
      const model = withdrawn({}, undefined, (one) => {
        if (what === balancer) one.service(false, [balancer]);
        else one.ingress(["shop/web"]);
        one.report("edge", 0, sender);
      });
      const { releases } = model.terminations;
      const left = (): number => releases.assumedMs(model.record("a"), model.now);
      const until = (model.record("a").withdrawnAt ?? NaN) + assumed;
      for (const node of ["node1", "node2"]) model.report(node, 1);
      model.report("edge", 0, { ...sender, problem: "connection refused" });
      assert.equal(model.state("a"), "waiting", what);
      assert.equal(left(), until - model.now, what);
      const [behind] = model.terminations.progress.behind(model.record("a"), model.now);
      assert.equal(behind?.reason, "cannot be read");
      model.now += 2_000;
      model.report("edge", 0, { ...sender, problem: "connection refused" });
      assert.equal(left(), until - model.now, "it ends, since nobody says that it still sends");
      model.report("edge", 1, sender);
      assert.equal(model.state("a"), "released", what);
      assert.equal(left(), 0, what);
    }
  });

  it("the time is assumed of a load balancer whose watcher is silent, as of one that has none", () => {
    const balancer = "load-balancer/aws/shop/web";
    const model = withdrawn({}, undefined, (one) => {
      one.service(false, [balancer]);
      one.report("one", 0, { kind: "aws", node: undefined, serves: [balancer] });
    });
    for (const node of ["node1", "node2"]) model.report(node, 1);
    model.pass(30_000);
    assert.equal(model.state("a"), "incomplete");
    const { withdrawnAt = NaN } = model.record("a");
    const left = model.terminations.releases.assumedMs(model.record("a"), model.now);
    assert.equal(left, withdrawnAt + 120_000 - model.now);
  });

  it("the proxy of a class says nothing for another class whose name is alike", () => {
    const model = withdrawn({}, undefined, (one) => one.ingress(["shop/web"], "i", "nginx-public"));
    for (const node of ["node1", "node2"]) model.report(node, 1);
    model.report("edge", 1, { kind: "nginx", node: undefined });
    assert.equal(model.state("a"), "incomplete");
    model.report("edge", 1, { kind: "nginx", node: undefined, serves: ["ingress-class/nginx-public"] });
    assert.equal(model.state("a"), "released");
  });

  it("no pod is released while a list may not be read, because a consumer could be in that list", () => {
    const model = withdrawn();
    model.unread = ["httpproxies.projectcontour.io"];
    for (const node of ["node1", "node2"]) model.report(node, 1);
    assert.equal(model.state("a"), "incomplete");
    model.unread = [];
    assert.equal(model.state("a"), "released");
  });

  it("a coordinator that does not hear of EndpointSlices knows only the withdrawals from before", () => {
    const model = withdrawn();
    model.pod("b");
    model.publish("b", true);
    model.pod("b", true);
    model.knowsEndpoints = false;
    for (const node of ["node1", "node2"]) model.report(node, 1);
    assert.deepEqual([model.state("a"), model.state("b")], ["released", "unknown"]);
    model.knowsEndpoints = true;
    assert.deepEqual([model.state("a"), model.state("b")], ["released", "waiting"]);
  });

  it("a replica that has just begun waits for proxies that have not found it yet", () => {
    const model = new Model();
    const balancer = "load-balancer/aws/shop/web";
    const aws = { kind: "aws", node: undefined, serves: [balancer] };
    model.service(false, [balancer]);
    model.node("node1");
    model.pod("a");
    model.publish("a", true);
    model.synced(5_000);
    model.pod("a", true);
    model.publish("a", false);
    model.report("node1", 1);
    model.report("one", 1, aws);
    assert.equal(model.state("a"), "waiting");
    model.pass(8_000);
    model.report("two", 0, aws);
    model.pass(8_000);
    assert.equal(model.state("a"), "waiting");
    model.report("two", 1, aws);
    assert.equal(model.state("a"), "released");
  });

  it("in the setting consumers: seen a pod waits for the nodes that it has seen, and for all nodes where a sender is from outside", () => {
    const model = withdrawn({ consumers: "seen" });
    model.terminations.report(model.record("a"), { senders: "ip-node1" }, model.now);
    model.report("node1", 1);
    assert.equal(model.state("a"), "released");
    const outside = withdrawn({ consumers: "seen" });
    outside.terminations.report(outside.record("a"), { senders: "ip-node1 203.0.113.7" }, outside.now);
    outside.report("node1", 1);
    assert.equal(outside.state("a"), "waiting");
  });
});

describe("silence", () => {
  it("a silent consumer is left out after a time in the mode availability, never in the mode consistency, and its silence is no consent", () => {
    const nodes = ["node1", "node2", "node3"];
    for (const [mode, expected] of [
      ["availability", "released"],
      ["consistency", "waiting"],
    ] as const) {
      const model = withdrawn({ mode, silentAfterSeconds: 10 }, nodes);
      for (const node of ["node1", "node2"]) model.report(node, 1);
      model.pass(9_000);
      assert.equal(model.state("a"), "waiting");
      for (const node of ["node1", "node2"]) model.report(node, 1);
      model.pass(1_000);
      assert.equal(model.state("a"), expected, mode);
    }
    const mute = withdrawn({}, nodes);
    mute.report("node1", 1);
    mute.pass(60_000);
    assert.equal(mute.state("a"), "incomplete", "more of them are silent than speak");
  });

  it("a silent watcher of a load balancer releases nothing, whatever the nodes say", () => {
    const balancer = "load-balancer/aws/shop/web";
    const aws = { kind: "aws", node: undefined, serves: [balancer] };
    const model = withdrawn({ silentAfterSeconds: 10 }, ["node1", "node2"], (one) => {
      one.service(false, [balancer]);
      one.report("web", 0, aws);
    });
    for (let second = 0; second < 9; second++) {
      for (const node of ["node1", "node2"]) model.report(node, 0);
      model.pass(1_000);
    }
    assert.equal(model.state("a"), "waiting");
    for (const node of ["node1", "node2"]) model.report(node, 0);
    model.pass(1_000);
    assert.equal(model.state("a"), "incomplete", "at once, though nodes are behind");
    assert.equal(model.record("a").because, "silent");
    for (const node of ["node1", "node2"]) model.report(node, 1);
    assert.equal(model.state("a"), "incomplete");
    model.report("web", 1, aws);
    assert.equal(model.state("a"), "released");
  });

  it("the silence of a consumer is not counted while the coordinator itself was paused, or its clock was set", () => {
    const model = withdrawn();
    model.report("node1", 1);
    model.pass(1_000);
    model.report("node2", 0);
    model.now += 60_000;
    assert.equal(model.state("a"), "waiting");
    model.pass(9_000);
    assert.equal(model.state("a"), "waiting");
    model.pass(2_000);
    assert.equal(model.state("a"), "released", "it has not been heard since");
  });

  it("a consumer that has applied everything is never silent", () => {
    const model = new Model();
    model.node("node1");
    model.report("node1", 0);
    model.synced();
    model.pass(600_000);
    model.pod("a", true);
    model.publish("a", true);
    model.publish("a", false);
    model.pass(9_000);
    assert.equal(model.state("a"), "waiting", "it was not late before there was something to say");
  });

  it("a quorum of consumers is enough to release a pod where a quorum is asked for", () => {
    const model = withdrawn({ quorum: "50%" });
    model.report("node1", 1);
    assert.equal(model.state("a"), "released");
  });

  it("a quorum of nodes says nothing for an ingress, nor for clients that know a pod by name", () => {
    const model = withdrawn({ quorum: "50%", dnsTtlSeconds: 5 }, undefined, (one) => {
      one.service(true);
      one.ingress(["shop/web"]);
    });
    for (const node of ["node1", "node2"]) model.report(node, 1);
    model.report("edge", 0, { kind: "nginx", node: undefined });
    model.pass(6_000);
    assert.equal(model.state("a"), "waiting", "the ingress is one of four");
    model.report("edge", 1, { kind: "nginx", node: undefined });
    assert.equal(model.state("a"), "released");
  });
});

describe("a termination", () => {
  it("a termination begins and ends once, with the moment of each consumer", () => {
    const model = withdrawn();
    model.pass(100);
    model.report("node1", 1);
    model.pass(400);
    model.report("node2", 1);
    model.pass(10);
    const record = model.record("a");
    const { withdrawnAt = 0, releasedAt = 0 } = record;
    const moments = [...record.consumers].map(([name, { appliedAt = 0 }]) => [name, appliedAt - withdrawnAt]);
    assert.deepEqual(moments, [
      ["kube-proxy/node2", 500],
      ["kube-proxy/node1", 100],
    ]);
    assert.equal(releasedAt - withdrawnAt, 510);
    model.podGone("a");
    assert.equal(record.goneAt, model.now);
    assert.deepEqual(
      ["began", "ended"].map((what) => model.happened.filter(([one]) => one === what).length),
      [1, 1],
    );
    assert.deepEqual([...model.withdrawals.after(0)], []);
  });

  it("listeners are not told of a pod that is only asked about, until it is deleted", () => {
    const model = withdrawn();
    model.pod("b");
    model.publish("b", false, { isTerminating: false });
    const asked = model.terminations.follow("b", model.now);
    assert.equal(asked?.sequence, 2);
    for (const node of ["node1", "node2"]) model.report(node, 2);
    assert.equal(model.state("b"), "released");
    assert.ok(model.happened.every(([, uid]) => uid !== "b"));
    model.pod("b", true);
    assert.deepEqual(model.happened.filter(([, uid]) => uid === "b")[0], ["began", "b"]);
    const forgotten = withdrawn();
    forgotten.pod("c");
    forgotten.terminations.follow("c", forgotten.now);
    forgotten.pass(61_000);
    assert.equal(forgotten.terminations.all.has("c"), false);
  });
});

describe("a pod that shows a sender", () => {
  /** As `withdrawn`, with a pod of these containers on node1. */
  const beside = (containers: readonly string[], report: (model: Model, applied: number) => void): Model => {
    const model = new Model();
    model.node("node1");
    const pod = slimPod({
      metadata: { name: "shows", uid: "shows", namespace: "kube-system" },
      spec: { nodeName: "node1", hostNetwork: true, containers: containers.map((name) => ({ name })) },
      status: { phase: "Running" },
    });
    model.terminations.pod(there(pod), model.now);
    model.pod("a");
    model.publish("a", true);
    report(model, 0);
    model.synced();
    model.pod("a", true);
    model.publish("a", false);
    report(model, 1);
    return model;
  };

  it("kube-proxy must report for its node, whatever other proxy of the node does", () => {
    const ofCilium = (model: Model, applied: number): void =>
      model.report("node1", applied, { kind: "cilium", basis: "syncs" });
    const model = beside(["kube-proxy"], ofCilium);
    assert.equal(model.state("a"), "incomplete");
    model.report("node1", 0);
    assert.equal(model.state("a"), "waiting");
    model.report("node1", 1);
    assert.equal(model.state("a"), "released");
    assert.equal(beside(["app"], ofCilium).state("a"), "released");
  });

  it("an Envoy of a gateway says nothing for sidecars, although it is called like them", () => {
    const both = (model: Model, applied: number): void => {
      model.report("node1", applied);
      model.report("edge", applied, { kind: "envoy", node: undefined });
    };
    const model = beside(["app", "envoy"], both);
    assert.equal(model.state("a"), "incomplete");
    model.report("own", 1, { kind: "http", node: undefined, serves: ["mesh/envoy"] });
    assert.equal(model.state("a"), "released");
  });
});

describe("a proxy whose pods have no watcher all", () => {
  const watching = { name: "lameduck-watcher", args: ["watcher", "--consumer=ingress-nginx"] };
  const image = "registry.k8s.io/ingress-nginx/controller:v1";
  interface Proxy {
    readonly hasWatcher?: boolean;
    readonly reports?: boolean;
    /** Of a Deployment. */
    readonly workload?: string;
    /** "" has none. */
    readonly address?: string;
    readonly controller?: { readonly image?: string; readonly args?: readonly string[] };
  }
  const proxy = (model: Model, uid: string, more: Proxy = {}): void => {
    const { hasWatcher = false, workload = "nginx", address = `ip-${uid}`, controller = { image } } = more;
    const hash = hasWatcher ? "new" : "old";
    const own = { name: "controller", ...controller };
    const pod = slimPod({
      metadata: {
        name: uid,
        uid,
        namespace: "edge",
        labels: { "pod-template-hash": hash },
        ownerReferences: [{ kind: "ReplicaSet", name: `${workload}-${hash}`, uid: "r", controller: true }],
      },
      spec: { nodeName: "node1", containers: hasWatcher ? [watching, own] : [own] },
      status: { phase: "Running", podIPs: address === "" ? [] : [{ ip: address }] },
    });
    model.terminations.pod(there(pod), model.now);
  };
  const serving = { kind: "ingress-nginx", node: undefined, serves: ["ingress-class/nginx"] };
  /** One pod with a watcher reports for the class, and has let go of pod a; and these pods are there, too. */
  const beside = (read: Proxy, others: Readonly<Record<string, Proxy>>, isLate = false): Model => {
    const add = (model: Model): void => {
      for (const [uid, one] of Object.entries(others)) proxy(model, uid, one);
    };
    const model = withdrawn({}, ["node1"], (one) => {
      one.ingress(["shop/web"]);
      one.reportedBy.set("new", ["ingress-nginx/new"]);
      for (const [uid, { reports }] of Object.entries(others))
        if (reports === true) one.reportedBy.set(uid, [`ingress-nginx/${uid}`]);
      if (!isLate) add(one);
      proxy(one, "new", { hasWatcher: true, ...read });
      if (isLate) add(one);
      one.report("new", 0, serving);
    });
    model.report("node1", 1);
    model.report("new", 1, serving);
    return model;
  };

  it("is missing until all have one: what some report says nothing of the others", () => {
    const model = beside({}, { old: {} });
    const { releases } = model.terminations;
    assert.equal(model.state("a"), "incomplete");
    assert.match(
      releases.whoIs(model.record("a"), "ingress-class/nginx") ?? "",
      /^Ingress .*; Pod edge\/old may send for it and has no watcher; 10 s are assumed$/,
    );
    assert.ok(releases.assumedMs(model.record("a"), model.now) > 0);
    assert.equal(releases.isReported("ingress-class/nginx", "shop"), false);
    model.podGone("old");
    proxy(model, "next", { address: "" });
    assert.equal(model.state("a"), "released", "one without an address sends nothing");
    assert.equal(releases.isReported("ingress-class/nginx", "shop"), true);
  });

  it("is missing until all watchers have reported", () => {
    const model = beside({}, { young: { hasWatcher: true } });
    const { releases } = model.terminations;
    assert.equal(model.state("a"), "incomplete");
    assert.match(
      releases.whoIs(model.record("a"), "ingress-class/nginx") ?? "",
      /; Pod edge\/young may send for it and its watcher has not reported; 10 s are assumed$/,
    );
    model.reportedBy.set("young", ["ingress-nginx/young"]);
    assert.equal(model.state("a"), "released");
  });

  it("is looked for among pods, not among pairs of pods: each node has a pod with a watcher", () => {
    const readsOf = (pods: number): number => {
      let reads = 0;
      const halfRead = new HalfReadProxies(
        (uid) => (uid.startsWith("watcher") ? [uid] : []),
        () => [],
      );
      for (const name of ["watcher", "proxy"])
        for (let at = 0; at < pods; at++) {
          const uid = `${name}${at}`;
          const pod = {
            ...new Model().pod(uid),
            proxy: name === "proxy" ? { isRead: false, who: "Traefik" } : { isRead: true },
          };
          const workload = { kind: "DaemonSet", name };
          Object.defineProperty(pod, "workload", { get: () => (reads++, workload) });
          halfRead.take(there(pod));
        }
      reads = 0;
      assert.equal(halfRead.consumers.size, 0);
      return reads;
    };
    assert.ok(readsOf(40) <= 2 * readsOf(20));
  });

  it("is missing as well where two workloads may serve the class, and one of them has none", () => {
    const internal = { image, args: ["/nginx-ingress-controller", "--ingress-class=internal"] };
    const own = (...args: readonly string[]): Proxy => ({ workload: "second", controller: { image, args } });
    const apart = ["--controller-class=example.com/two", "--ingress-class", "two"];
    for (const [second, state] of [
      [own(), "incomplete"],
      [own("--controller-class=example.com/two"), "incomplete"],
      [own("--ingress-class=two"), "incomplete"],
      [own(...apart), "released"],
      [own(...apart, "--watch-ingress-without-class"), "incomplete"],
      [own(...apart, "--ingress-class-by-name=true"), "incomplete"],
      [own(...apart, "--ingress-class-by-name=false"), "released"],
      [own(...apart, "--ingress-class=$(CLASS)"), "incomplete"],
      [own(...apart, "--ingress-class="), "incomplete"],
      [{ workload: "traefik", controller: { image: "traefik:v3" } }, "released"],
      [{ workload: "second", hasWatcher: true, reports: true }, "released"],
      [{ workload: "second", hasWatcher: true }, "incomplete"],
      [{ workload: "second", reports: true }, "released"],
    ] as const) {
      const why = JSON.stringify(second);
      for (const isLate of [false, true]) assert.equal(beside({}, { second }, isLate).state("a"), state, why);
    }
    const model = beside({ controller: internal }, { second: own() });
    assert.equal(model.state("a"), "incomplete", "both have the same IngressClasses");
    const script = own("-c", `/nginx-ingress-controller ${apart.join(" ")}`);
    const scripted = beside({ controller: { image, args: apart } }, { second: script });
    assert.equal(scripted.state("a"), "incomplete", "a script may give it any flag");
  });

  it("is missing within one workload whatever its program is, whichever pod is seen first", () => {
    const controller = { image: "registry.example/our-own-proxy" };
    for (const isLate of [false, true]) {
      const model = beside({ controller }, { old: { controller } }, isLate);
      assert.equal(model.state("a"), "incomplete");
      model.podGone("old");
      assert.equal(model.state("a"), "released");
      assert.equal(model.terminations.releases.isReported("ingress-class/nginx", "shop"), true);
      // The workload is forgotten, and comes back.
      model.podGone("new");
      proxy(model, "old", { controller });
      proxy(model, "new", { hasWatcher: true, controller });
      model.terminations.decide(model.now);
      assert.equal(model.terminations.releases.isReported("ingress-class/nginx", "shop"), false);
      // A program that nobody knows, in another workload, is not seen.
      assert.equal(
        beside({ controller }, { old: { controller, workload: "second" } }, isLate).state("a"),
        "released",
      );
    }
  });
});
