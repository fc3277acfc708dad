/** EndpointSlices with hints: a ready pod may be reserved for the proxies of some zones or nodes (`trafficDistribution`). */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { slimSlice } from "@lameduck/cluster";
import { Model, there } from "./model.ts";

type Place = { readonly zone?: string; readonly node?: string } | undefined;

/** Service shop/web whose pods are published with these hints, for a minute; those that terminate have none. */
class Reserving extends Model {
  readonly #pods = new Map<string, Place>();
  readonly #withdrawn = new Set<string>();

  constructor(pods: Readonly<Record<string, Place>>) {
    super();
    this.node("node1");
    this.report("node1", 0);
    for (const [pod, place] of Object.entries(pods)) {
      this.pod(pod);
      this.#pods.set(pod, place);
    }
    this.#write();
    this.synced(60_000);
  }

  reserve(pod: string, place: Place): void {
    if (!this.terminations.pods.get(pod)) this.pod(pod);
    this.#pods.set(pod, place);
    this.#write();
  }

  withdraw(...pods: readonly string[]): void {
    for (const pod of pods) {
      this.pod(pod, true);
      this.#withdrawn.add(pod);
    }
    this.#write();
  }

  #write(): void {
    const endpoints = Array.from(this.#pods, ([uid, place]) => {
      const terminating = this.#withdrawn.has(uid);
      const { zone, node } = place ?? {};
      const hints = {
        ...(zone === undefined ? {} : { forZones: [{ name: zone }] }),
        ...(node === undefined ? {} : { forNodes: [{ name: node }] }),
      };
      const conditions = { ready: !terminating, serving: true, terminating };
      const isReserved = place !== undefined && !terminating;
      return { conditions, targetRef: { kind: "Pod", uid }, ...(isReserved ? { hints } : {}) };
    });
    const labels = { "kubernetes.io/service-name": "web" };
    const metadata = { name: "web-1", uid: "web-1", namespace: "shop", labels };
    this.terminations.slice(
      { ...there(slimSlice({ metadata, endpoints })), live: this.terminations.isSynced },
      this.now,
    );
  }

  isAsked(pod: string): boolean {
    this.terminations.decide(this.now);
    return this.record(pod).sequence !== undefined;
  }
}

const a = { zone: "a" };
const b = { zone: "b" };

describe("a pod that is reserved for some zones or nodes", () => {
  it("consumers are asked about a reserved pod at once, also where it is the last one of its zone", () => {
    for (const [mine, others] of [
      [a, b],
      [{ node: "n1" }, { node: "n2" }],
      [undefined, undefined],
    ]) {
      const model = new Reserving({ one: mine, two: others });
      model.withdraw("one");
      assert.ok(model.isAsked("one"));
    }
  });

  it("a reserved pod is young once another zone or node has lost its own pods, because the proxies there then choose all pods", () => {
    for (const [mine, others] of [
      [a, b],
      [{ node: "n1" }, { node: "n2" }],
    ] as const) {
      const model = new Reserving({ one: mine, two: others, three: mine, four: mine });
      model.withdraw("one");
      model.pass(1_000);
      model.withdraw("two");
      model.pass(3_000);
      model.withdraw("three");
      assert.ok(model.isAsked("one"), "it was not ready any more");
      assert.ok(!model.isAsked("three"));
      model.pass(6_999);
      assert.ok(!model.isAsked("three"));
      model.pass(1);
      assert.ok(model.isAsked("three"));
    }
  });

  it("a reserved pod is young once another pod of its Service is reserved for nobody, because no reservation counts then", () => {
    const model = new Reserving({ one: a, two: b });
    model.reserve("three", undefined);
    model.pass(3_000);
    model.withdraw("one");
    assert.ok(!model.isAsked("one"));
    model.pass(7_000);
    assert.ok(model.isAsked("one"));
    model.reserve("four", undefined);
    model.pass(1_000);
    model.withdraw("two");
    assert.ok(model.isAsked("two"), "they did not count before");
  });

  it("a reserved pod is young where all zones lose their pods at once, because each proxy chooses the terminating pods of all zones", () => {
    const model = new Reserving({ one: a, two: b });
    model.withdraw("one", "two");
    assert.ok(!model.isAsked("one"));
    model.pass(10_000);
    assert.ok(model.isAsked("one"));
    const single = new Reserving({ one: a, two: a });
    single.withdraw("one", "two");
    assert.ok(single.isAsked("one"), "they were chosen by all");
    const onNode = new Reserving({ one: { node: "n1", zone: "a" } });
    onNode.withdraw("one");
    assert.ok(onNode.isAsked("one"), "it was chosen by all");
  });

  it("a reserved pod is young once the slice of another zone is gone", () => {
    const model = new Reserving({ one: a });
    const labels = { "kubernetes.io/service-name": "web" };
    const metadata = { name: "web-2", uid: "web-2", namespace: "shop", labels };
    const endpoints = [{ targetRef: { kind: "Pod", uid: "other" }, hints: { forZones: [{ name: "b" }] } }];
    const slice = there(slimSlice({ metadata, endpoints }));
    model.terminations.slice(slice, model.now);
    model.pass(20_000);
    model.terminations.slice({ ...slice, type: "gone" }, model.now);
    model.pass(1_000);
    model.withdraw("one");
    assert.ok(!model.isAsked("one"));
  });

  it("a reserved pod is young once it is reserved for another zone", () => {
    const model = new Reserving({ one: a, two: b, three: a });
    model.reserve("one", b);
    model.pass(3_000);
    model.withdraw("one", "three");
    assert.ok(!model.isAsked("one"));
    assert.ok(model.isAsked("three"));
    model.pass(7_000);
    assert.ok(model.isAsked("one"));
  });
});
