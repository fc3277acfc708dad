/** Senders that the cluster shows, and for which nobody reports, or somebody does: what the objects say is kept apart from what is tested. */
import assert from "node:assert/strict";
import test from "node:test";
import { recognisedKinds, slimPod, SlimPaths } from "@lameduck/cluster";
import { sendersOfNamespace } from "@lameduck/senders";
import fc from "fast-check";
import { gone, Model, there } from "./model.ts";

const slim = new SlimPaths({ asks: "by Services" });
const httpProxy = recognisedKinds.find(({ kind }) => kind === "HTTPProxy");
assert.ok(httpProxy);
const readProxy = slim.route(httpProxy);
const nodes = ["node0", "node1"];

/** Something that shows a sender to shop/web, or its like that leads elsewhere. */
interface Sight {
  /** What somebody has to report to serve; undefined where it leads to no pod of the test. */
  readonly need: string | undefined;
  /** The node whose pods it is about. */
  readonly node?: string;
  readonly show: (model: Model, isThere: boolean) => void;
}

const pod = (name: string, namespace: string, container: object, more: object = {}): Sight["show"] => {
  const made = slimPod({
    metadata: { name, uid: name, namespace, ...more },
    spec: { nodeName: "node1", containers: [{ name: "app" }, container as { name: string }] },
    status: { phase: "Running", podIPs: [] },
  });
  return (model, isThere) => model.terminations.pod(isThere ? there(made) : gone(made), model.now);
};

const proxied = (name: string, namespace: string, service: string): Sight["show"] => {
  const spec = { routes: [{ services: [{ name: service }] }] };
  const route = readProxy({ metadata: { name, uid: name, namespace }, spec: spec as never });
  return (model, isThere) => model.routing.route(isThere ? there(route) : gone(route), model.now);
};

const labelled = (name: string, labels: Readonly<Record<string, string>>): Sight["show"] => {
  const shown = {
    metadata: { name, uid: `namespace-${name}` },
    senders: sendersOfNamespace({ name, labels }),
  };
  return (model, isThere) => model.routing.shows(isThere ? there(shown) : gone(shown), model.now);
};

const sights: readonly Sight[] = [
  { need: "mesh/istio", show: pod("client", "other", { name: "istio-proxy" }) },
  { need: "mesh/istio", show: pod("client2", "shop", { name: "istio-proxy" }) },
  { need: "mesh/consul", show: pod("member", "shop", { name: "consul-dataplane" }) },
  { need: undefined, show: pod("stranger", "other", { name: "consul-dataplane" }) },
  { need: "node-proxy/cilium", node: "node1", show: pod("agent", "kube-system", { name: "cilium-agent" }) },
  { need: "proxy/contour", show: proxied("web", "shop", "web") },
  { need: undefined, show: proxied("db", "shop", "db") },
  { need: "mesh/istio-ambient", show: labelled("other", { "istio.io/dataplane-mode": "ambient" }) },
  { need: "gateway-class/istio-waypoint", show: labelled("shop", { "istio.io/use-waypoint": "w" }) },
];
const needs = [...new Set(sights.flatMap(({ need }) => need ?? []))];

type Step =
  | { readonly do: "terminate" | "withdraw" | "restore" | "remove"; readonly pod: number }
  | { readonly do: "appear" | "vanish"; readonly sight: number }
  | { readonly do: "report"; readonly need: number; readonly share: number }
  | { readonly do: "nodes" | "reports" }
  | { readonly do: "silence"; readonly needs: readonly number[] }
  | { readonly do: "pass"; readonly milliseconds: number };

const podCount = 3;
const [onePod, oneSight, oneNeed] = [podCount, sights.length, needs.length].map((count) =>
  fc.nat({ max: count - 1 }),
) as [fc.Arbitrary<number>, fc.Arbitrary<number>, fc.Arbitrary<number>];

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ do: fc.constantFrom("terminate", "withdraw"), pod: onePod }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("restore", "remove"), pod: onePod }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("appear", "vanish"), sight: oneSight }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant("report"),
        need: oneNeed,
        share: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
      }),
    },
    { weight: 8, arbitrary: fc.record({ do: fc.constantFrom("nodes", "nodes", "nodes", "reports") }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant("silence"), needs: fc.array(oneNeed, { maxLength: 3 }) }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constant("pass"), milliseconds: fc.nat({ max: 40_000 }) }) },
  ),
  { maxLength: 80, size: "max" },
);

class World {
  readonly model = new Model({ mode: "consistency" });
  readonly there = new Set<Sight>();
  readonly applied = new Map<string, number>();
  silent: readonly string[] = [];

  constructor() {
    const { model } = this;
    for (const node of nodes) {
      model.node(node);
      model.report(node, 0);
    }
    for (let at = 0; at < podCount; at++) {
      model.pod(`p${at}`);
      model.publish(`p${at}`, true);
    }
    model.synced();
  }

  take(step: Step): void {
    const { model } = this;
    const { lastSequence: head } = model.withdrawals;
    if (step.do === "terminate") {
      model.pod(`p${step.pod}`, true);
      model.publish(`p${step.pod}`, false);
    } else if (step.do === "withdraw" || step.do === "restore")
      model.publish(`p${step.pod}`, step.do === "restore");
    else if (step.do === "remove") model.podGone(`p${step.pod}`);
    else if (step.do === "pass") model.pass(step.milliseconds);
    else if (step.do === "nodes") for (const node of nodes) model.report(node, head);
    else if (step.do === "report") this.#report(needs[step.need] ?? "", Math.floor(step.share * head));
    else if (step.do === "silence") {
      this.silent = step.needs.map((at) => needs[at] ?? "");
      const sendsNothing = this.silent.join(", ");
      model.policy("shop", { mode: "consistency", ...(sendsNothing === "" ? {} : { sendsNothing }) });
    } else if (step.do === "reports") for (const need of needs) this.#report(need, head);
    else if (step.do === "appear" || step.do === "vanish") {
      const sight = sights[step.sight];
      if (!sight) return;
      sight.show(model, step.do === "appear");
      if (step.do === "appear") this.there.add(sight);
      else this.there.delete(sight);
    }
  }

  /** Who may choose the pods of shop/web, and has not reported this withdrawal. */
  unreported(sequence: number): readonly string[] {
    return [...this.there].flatMap(({ need }) =>
      need === undefined || this.silent.includes(need) || (this.applied.get(need) ?? -1) >= sequence
        ? []
        : [need],
    );
  }

  #report(need: string, applied: number): void {
    this.applied.set(need, Math.max(applied, this.applied.get(need) ?? 0));
    const node = sights.find((one) => one.need === need)?.node;
    this.model.report(`reader-${need.replace("/", "-")}`, applied, {
      kind: node === undefined ? "http" : (need.split("/")[1] ?? ""),
      node,
      serves: node === undefined ? [need] : [],
    });
  }
}

test("no pod is released while somebody who is recognised may choose it, and nobody has reported for him", () => {
  const counts = { released: 0, withSenders: 0 };
  fc.assert(
    fc.property(steps, (all) => {
      const world = new World();
      const { model } = world;
      const wasReleased = new Set<unknown>();
      for (const step of all) {
        world.take(step);
        model.terminations.decide(model.now);
        for (const record of model.terminations.all.values()) {
          if (record.state !== "released") wasReleased.delete(record);
          if (record.state !== "released" || wasReleased.has(record)) continue;
          wasReleased.add(record);
          counts.released++;
          if ([...world.there].some(({ need }) => need !== undefined)) counts.withSenders++;
          assert.deepEqual(world.unreported(record.sequence ?? Infinity), [], record.uid);
        }
      }
    }),
    { numRuns: 400 },
  );
  assert.ok(counts.released > 200 && counts.withSenders > 30, JSON.stringify(counts));
});

test("every pod is released once somebody has reported for all that are recognised, or they are gone for a minute", () => {
  fc.assert(
    fc.property(steps, fc.boolean(), (all, reports) => {
      const world = new World();
      const { model } = world;
      for (const step of all) world.take(step);
      if (reports) {
        world.take({ do: "reports" });
        model.pass(10_000);
        world.take({ do: "reports" });
      } else {
        for (const at of sights.keys()) world.take({ do: "vanish", sight: at });
        model.pass(61_000);
        // The consumer of a node counts as one of its proxies, whatever it was for.
        for (const at of needs.keys())
          if (world.applied.has(needs[at] ?? "")) world.take({ do: "report", need: at, share: 1 });
      }
      world.take({ do: "nodes" });
      model.pass(20_000);
      for (const record of model.terminations.all.values())
        if (record.sequence !== undefined && [...model.terminations.listings.servicesOf(record)].length > 0)
          assert.equal(record.state, "released", `${record.uid} ${record.because}`);
    }),
    { numRuns: 200 },
  );
});
