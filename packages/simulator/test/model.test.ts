import assert from "node:assert/strict";
import { test } from "node:test";
import { Random } from "../src/kernel/random.ts";
import { Simulation } from "../src/kernel/simulation.ts";
import { EndpointSliceController } from "../src/model/endpoints.ts";
import { applyInOrder, startForwarder } from "../src/model/forwarder.ts";
import { presets } from "@lameduck/load/propagation";
import { defaultEndpoints } from "../src/model/scenario.ts";
import { simulateWorld } from "../src/model/world.ts";
import { bare, drained } from "../src/policies/drained.ts";
import { run } from "../src/run.ts";
import { scenarioFrom } from "../src/scenario/parse.ts";
import { assertMean, equalSenders, exponential, meanOfAll, outcomesOf } from "./samples.ts";

test("a simulated kube-proxy syncs at once when idle, and else a period after its last sync ended", () => {
  const state = startForwarder(
    { kind: "periodic", watch: 0, every: 1_000, counted: "from-end", work: 200 },
    new Random("kube-proxy"),
  );
  assert.equal(state.learn(5_000), 5_200, "idle: at once");
  assert.equal(state.learn(5_100), 6_400, "during the sync: after its end and the period");
  assert.equal(state.learn(6_100), 6_400, "joins the sync that waits");
  assert.equal(state.learn(6_300), 7_600, "that sync has begun: the next one");
  assert.equal(state.learn(20_000), 20_200, "idle again");
});

test("a busy kube-proxy meets a change at any time of its period", () => {
  const times = Array.from({ length: 4_000 }, (_, index) => {
    const state = startForwarder(presets["lagging-kube-proxy"].forwarder, new Random("busy", index));
    return state.learn(100_000) - 100_000;
  });
  assert.ok(Math.min(...times) < 500 && Math.max(...times) > 9_500 && Math.max(...times) < 10_700);
  assertMean(
    times,
    5_000 + 40 + 110 + 50,
    "uniform over the period, its sync and what it takes to see a change",
  );
});

test("the news of several changes keeps their order and spacing: a slow change comes with the next", () => {
  const told = Array.from({ length: 200 }, (_, index) => index * 50);
  const slowNow = { kind: "ordered", delay: { uniform: [0, 1_000] }, spacing: 300 } as const;
  const applied = applyInOrder(slowNow, told, new Random("ordered"));
  for (const [index, at] of applied.entries()) {
    const next = applied[index + 1] ?? Infinity;
    assert.ok(at >= (told[index] ?? Infinity), "not before it was told");
    assert.ok(next === at || next >= at + 300, `${at}, then ${next}`);
  }
  assert.deepEqual(applyInOrder({ ...slowNow, delay: 10, spacing: 0 }, [5, 7], new Random("x")), [15, 17]);
});

test("a late change does not hold up another one where the controller's delays are drawn", () => {
  const plain = equalSenders(1, 1, { kind: "delay", delay: 0 }, { replicas: 20, terminations: 400 });
  const drawn = { mixture: [[0.9, 10] as const, [0.1, 5_000] as const] };
  const { scenario } = scenarioFrom({ replicas: 20, terminations: 400 });
  const world = simulateWorld(
    { ...plain, rollout: scenario.rollout, endpoints: { ...plain.endpoints, drawn } },
    1,
  );
  const late = world.convergence.map((times) => Number(Math.max(...times) > 1_000));
  assertMean(late, 0.1, "share of late withdrawals");
  assert.equal(world.conflicts, 0);
});

test("the mean convergence of each preset is near what its source says", () => {
  const expected: Record<keyof typeof presets, [least: number, most: number]> = {
    instant: [0, 50],
    ebpf: [50, 150],
    "idle-kube-proxy": [100, 1_400],
    "busy-iptables": [1_700, 2_500],
    "lagging-kube-proxy": [4_500, 5_800],
    "kube-proxy-1s": [600, 850],
    "kube-proxy-2s": [800, 1_250],
    "kube-proxy-5s": [2_500, 3_700],
    "kube-proxy-10s": [5_300, 7_000],
    "ingress-nginx": [1_500, 2_700],
    traefik: [700, 1_400],
    skipper: [1_300, 1_900],
    mesh: [800, 1_200],
    alb: [14_000, 16_500],
    neg: [28_000, 33_000],
    nlb: [118_000, 122_000],
    dns: [28_000, 32_000],
  };
  for (const [name, [least, most]] of Object.entries(expected)) {
    const { forwarder } = presets[name as keyof typeof presets];
    const world = simulateWorld(equalSenders(20, 1, forwarder, { terminations: 100 }), 3);
    const mean = meanOfAll(world.convergence.map((times) => meanOfAll([...times])));
    assert.ok(mean >= least && mean <= most, `${name}: ${mean}`);
  }
});

test("a sync that meets a stale cache is retried after 1 s, 2 s, 4 s, unless another change comes first", () => {
  const simulation = new Simulation();
  const published: [number, readonly number[]][] = [];
  const model = { latency: 10, batch: 0, cacheLag: 100, backOff: 1_000, longestBackOff: 1e6 };
  const controller = new EndpointSliceController(simulation, new Random(1), model, (changes, at) =>
    published.push([at, changes]),
  );
  simulation.at(0, () => controller.change(1));
  simulation.at(50, () => controller.change(2));
  simulation.at(5_000, () => controller.change(3));
  simulation.at(5_050, () => controller.change(4));
  simulation.at(5_300, () => controller.change(5));
  simulation.run();
  assert.deepEqual(published, [
    [10, [1]],
    [1_060, [2]],
    [5_010, [3]],
    [5_310, [4, 5]],
  ]);
  assert.equal(controller.conflicts, 2);
});

test("rollouts of 20 pods meet about as many conflicts as were counted on a real cluster", () => {
  // 168 in some 25 rollouts of 20 pods on Kubernetes 1.36: 6.7 each.
  const { scenario } = scenarioFrom({ replicas: 20, terminations: 2_000 });
  const conflicts = simulateWorld(scenario, 5).conflicts / 100;
  assert.ok(conflicts > 3 && conflicts < 14, `${conflicts} per rollout`);
});

test("a rollout deletes every pod once, and never more at a time than it may", () => {
  const { scenario } = scenarioFrom({
    replicas: 20,
    terminations: 20,
    rollout: { maxSurge: 2, maxUnavailable: 0, ready: "5s" },
    endpoints: { latency: 0, cacheLag: 0 },
  });
  const world = simulateWorld(scenario, 1);
  const times = [...world.deletedAt].sort((a, b) => a - b);
  assert.ok(times.every(Number.isFinite));
  // Two new pods become ready every 5 s; only then may two old ones go.
  for (let index = 0; index < times.length; index++)
    assert.ok((times[index] ?? 0) >= 5_000 * (Math.floor(index / 2) + 1), `pod ${index} at ${times[index]}`);
});

test("the traffic that one sender sends to each pod is larger, the fewer pods it knows", () => {
  for (const arrivals of ["poisson", { periodic: 0.5 }] as const) {
    const { scenario } = scenarioFrom({
      replicas: 4,
      terminations: 400,
      rollout: { maxSurge: 0, maxUnavailable: 2, ready: "10s" },
      endpoints: { latency: 0, cacheLag: 0 },
      senders: [{ name: "slow", convergence: "5s" }],
      traffic: { perPod: 20, service: 0, spread: "known", arrivals },
      pod: { reaction: 0 },
    });
    const played = run(scenario, [drained("nothing", { policy: "fixed", delay: 0, floor: 0 })], { seed: 8 });
    const lost = outcomesOf(played).map((outcome) => outcome.lost);
    // The first two of a rollout go while four are known, the others while two are: those that replace the first are taken up 5 s later.
    const lostBy = (first: boolean): number[] => lost.filter((_, index) => index % 4 < 2 === first);
    assertMean(lostBy(true), 20 * 5, "known as one of four");
    // But for the moment until the Deployment's controller sees that they are ready.
    const late = meanOfAll(lostBy(false));
    assert.ok(Math.abs(late - 2 * 20 * 5) < 4, `known as one of two: ${late}`);
  }
});

test("a world and its arrivals are the same for the same seed, and for every policy", () => {
  const scenario = equalSenders(5, 20, exponential(1_000), { terminations: 30 });
  const sleep = drained("sleep", { policy: "fixed", delay: "1s", floor: 0 });
  const quiet = drained("quiet", { policy: "quiet", window: "1s", floor: 0 });
  const alone = run(scenario, [sleep], { seed: 9 });
  const beside = run(scenario, [quiet, sleep], { seed: 9 });
  assert.deepEqual(outcomesOf(alone), outcomesOf(beside, 1));
  assert.notDeepEqual(outcomesOf(alone), outcomesOf(run(scenario, [sleep], { seed: 10 })));
});

test("a request in flight when the grace period ends is cut, and the pod counts as killed", () => {
  const slow = equalSenders(1, 10, { kind: "delay", delay: 2_000 }, { terminations: 50 });
  const scenario = {
    ...slow,
    traffic: { ...slow.traffic, service: 20_000 },
    pod: { ...slow.pod, grace: 10_000 },
  };
  const slept = bare("sleep", { grace: "10s", policy: "fixed", delay: "4s", floor: 0 });
  const library = drained("adaptive", { grace: "10s" });
  const played = run(scenario, [slept, library], { seed: 1 });
  const [killed] = outcomesOf(played);
  assert.ok(killed?.killed);
  assert.ok(killed.losses.inFlight > 5);
  assert.equal(killed.total, 10_000);
  // The library keeps a tenth of the reserve, a third of the grace period here, for what cannot be foreseen.
  const [cut] = outcomesOf(played, 1);
  assert.ok(cut && !cut.killed && cut.losses.inFlight > 5);
  assert.ok(Math.abs(cut.total - 10_000 * (1 - 1 / 30)) < 1e-6, `${cut.total}`);
});

test("time in preStop hooks counts, and no hold outlives the grace period", () => {
  const slow = equalSenders(2, 50, { kind: "delay", delay: 60_000 }, { terminations: 5 });
  const scenario = { ...slow, pod: { ...slow.pod, grace: 20_000, prestop: 4_000, reserve: 2_000 } };
  const pod = { grace: "20s", prestop: "4s", reserve: "2s" };
  const played = run(
    scenario,
    [drained("adaptive", pod), drained("sleep", { ...pod, policy: "fixed", delay: "3s", floor: 0 })],
    { seed: 1 },
  );
  assert.ok(outcomesOf(played).every(({ hold, reason }) => hold === 18_000 && reason === "cap"));
  assert.ok(outcomesOf(played, 1).every(({ hold }) => hold === 7_000));
});

test("the conflict model's default is part of every scenario that does not say otherwise", () => {
  assert.deepEqual(scenarioFrom({}).scenario.endpoints, defaultEndpoints);
});
