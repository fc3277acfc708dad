import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { random } from "@lameduck/accounting";
import {
  type EndpointState,
  LoadError,
  parsePropagation,
  propagationOf,
  Learner,
  drawsFrom,
  Propagator,
  EndpointView,
} from "@lameduck/load";
import { draw, presets, type Distribution, type PresetName } from "@lameduck/load/propagation";
import { until } from "../../load/test/servers.ts";

function drawn(delay: Distribution, count = 20_000): Float64Array {
  const from = drawsFrom(random(5, "test"));
  return Float64Array.from({ length: count }, () => draw(delay, from)).sort();
}
const share = (sorted: Float64Array, below: number): number =>
  sorted.filter((value) => value < below).length / sorted.length;

test("the preset busy-iptables has the published distribution", () => {
  const sorted = drawn(propagationOf("busy-iptables").own);
  for (const [expected, below] of [
    [0.746, 2_270],
    [0.883, 4_540],
    [0.956, 6_810],
    [0.996, 9_100],
    [1, 22_701],
  ] as const)
    assert.ok(Math.abs(share(sorted, below) - expected) < 0.01, `${below} ms: ${share(sorted, below)}`);
});

test("the presets ebpf and mesh have the medians and tails they are named for", () => {
  const ebpf = drawn(propagationOf("ebpf").own);
  assert.ok(Math.abs(share(ebpf, 60) - 0.5) < 0.015);
  assert.ok(Math.abs(share(ebpf, 120) - 0.9) < 0.01);
  const mesh = drawn(propagationOf("mesh").own);
  assert.ok(Math.abs(share(mesh, 100 + 1_500) - 0.9) < 0.01);
});

test("the part of a delay that all senders share is small, but 1, 3 or 7 s in 5-10 % of the cases", () => {
  const sorted = drawn(propagationOf("ebpf").shared);
  assert.ok(share(sorted, 1_000) > 0.9 && share(sorted, 1_000) < 0.95);
  assert.ok(
    sorted.every((value) => [0, 1_000, 3_000, 7_000].some((base) => value >= base + 5 && value <= base + 40)),
  );
  assert.ok(sorted.some((value) => value > 7_000));
});

test("every preset names its source and draws finite delays", () => {
  for (const name of Object.keys(presets) as PresetName[]) {
    const { source, own } = propagationOf(name);
    assert.ok(source.length > 20);
    for (const value of drawn(own, 1_000)) assert.ok(Number.isFinite(value) && value >= 0);
  }
});

test("the delays and ranges of senders can be written out", () => {
  assert.deepEqual(parsePropagation(" busy-iptables "), propagationOf("busy-iptables"));
  assert.deepEqual(parsePropagation("1s..10s").own, { uniform: [1_000, 10_000] });
  assert.deepEqual(parsePropagation("300ms").own, { uniform: [300, 300] });
  assert.equal(Math.max(...drawn(parsePropagation("exactly 1s..2s").shared, 1_000)), 0);
  assert.ok(Math.max(...drawn(parsePropagation("1s..2s").shared, 1_000)) > 1_000);
  for (const text of ["", "fast", "10s..1s", "1s...2s", "toString", "-1s"])
    assert.throws(
      () => parsePropagation(text),
      (error) => error instanceof LoadError && error.code === "LAMEDUCK_UNKNOWN_PROPAGATION",
      text,
    );
});

const state = (pod: string, change: Partial<EndpointState> = {}): EndpointState => ({
  endpoint: { pod, address: "127.0.0.1", port: 80 },
  serving: true,
  terminating: false,
  listed: true,
  ...change,
});

test("the n-th pod that goes meets the same delays whatever it is called and whatever comes in between", () => {
  const withdrawals = (seed: number, prefix: string, arrivals: readonly number[]): readonly number[] => {
    const propagator = new Propagator(seed, propagationOf("busy-iptables"), ["node-1", "ingress-1"]);
    return arrivals.flatMap((newer, index) => {
      for (let pod = 0; pod < newer; pod++) propagator.changes(state(`${prefix}-new-${index}-${pod}`), 0);
      return propagator
        .changes(state(`${prefix}-${index}`, { terminating: true }), 0)
        .map((change) => change.at);
    });
  };
  const arrivals = fc.array(fc.nat(3), { minLength: 4, maxLength: 4 });
  fc.assert(
    fc.property(fc.integer(), arrivals, arrivals, (seed, some, others) => {
      assert.deepEqual(withdrawals(seed, "a", some), withdrawals(seed, "b", others));
      assert.notDeepEqual(withdrawals(seed, "a", some), withdrawals(seed + 1, "a", some));
    }),
  );
});

test("a pod name that returns meets other delays", () => {
  const propagator = new Propagator(1, propagationOf("busy-iptables"), ["node-1"]);
  const life = (): number | undefined => {
    propagator.changes(state("db-0"), 0);
    const [deletion] = propagator.changes(state("db-0", { terminating: true }), 0);
    const [end] = propagator.changes(state("db-0", { terminating: true, serving: false, listed: false }), 0);
    assert.equal(deletion?.at, end?.at);
    return end?.at;
  };
  assert.notEqual(life(), life());
});

test("a pod that ends early does not converge early, and news of a pod keeps its order", () => {
  fc.assert(
    fc.property(fc.integer(), fc.double({ min: 0, max: 30_000, noNaN: true }), (seed, life) => {
      const propagator = new Propagator(seed, propagationOf("busy-iptables"), ["node-1"]);
      const [arrival] = propagator.changes(state("web-1"), 0);
      const [deletion] = propagator.changes(state("web-1", { terminating: true }), life);
      const [end] = propagator.changes(
        state("web-1", { serving: false, terminating: true, listed: false }),
        life,
      );
      assert.ok(arrival && deletion && end);
      assert.ok(arrival.at <= deletion.at && deletion.at <= end.at);
    }),
  );
});

test("a view chooses ready endpoints, and serving ones only where its rule falls back and none is ready", () => {
  const states = fc.array(
    fc.record({
      pod: fc.constantFrom("a", "b", "c"),
      serving: fc.boolean(),
      terminating: fc.boolean(),
      listed: fc.boolean(),
    }),
  );
  fc.assert(
    fc.property(
      states,
      fc.constantFrom("ready" as const, "ready-else-serving" as const),
      (changes, choice) => {
        const view = new EndpointView(choice);
        const known = new Map<string, EndpointState>();
        const chosen = new Set<string>();
        for (const { pod, ...change } of changes) {
          const next = state(pod, change);
          if (next.listed) known.set(pod, next);
          else known.delete(pod);
          const { added, left } = view.apply([next]);
          for (const endpoint of left) assert.ok(chosen.delete(endpoint.pod));
          for (const endpoint of added) assert.ok(!chosen.has(endpoint.pod) && chosen.add(endpoint.pod));
          const all = [...known.values()];
          const ready = all.filter((each) => each.serving && !each.terminating);
          const expected =
            ready.length === 0 && choice !== "ready" ? all.filter((each) => each.serving) : ready;
          assert.deepEqual([...chosen].sort(), expected.map((each) => each.endpoint.pod).sort());
        }
      },
    ),
  );
});

/** Applications of news that was told in the order a, b, c ..., each due after so many milliseconds. */
async function learn(
  spacing: number,
  due: readonly number[],
): Promise<readonly { at: number; pods: string }[]> {
  const applied: { at: number; pods: string }[] = [];
  const began = performance.now();
  const learner = new Learner({
    now: () => performance.now() - began,
    spacing,
    apply: (states) =>
      void applied.push({
        at: performance.now() - began,
        pods: states.map(({ endpoint }) => endpoint.pod).join(""),
      }),
  });
  for (const [index, at] of due.entries())
    learner.learn({ sender: "s", state: state("abcdef".charAt(index)), at });
  await until(() => applied.reduce((sum, { pods }) => sum + pods.length, 0) === due.length, "all news");
  learner.stop();
  return applied;
}

test("a sender applies news when it is due, and never two changes closer than its spacing", async () => {
  const applied = await learn(80, [10, 30, 70]);
  assert.equal(applied.map(({ pods }) => pods).join(""), "abc");
  assert.ok((applied[0]?.at ?? 0) >= 10);
  for (const [index, { at }] of applied.slice(1).entries()) assert.ok(at - (applied[index]?.at ?? 0) >= 80);
});

test("the news of several changes keeps their order: an overtaken change comes with the later one", async () => {
  const applied = await learn(0, [10, 3_600_000, 40]);
  assert.equal(applied.map(({ pods }) => pods).join(""), "abc");
  assert.equal(applied.at(-1)?.pods, applied.length === 1 ? "abc" : "bc");
  assert.ok((applied.at(-1)?.at ?? 0) >= 40);
});
