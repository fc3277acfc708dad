import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Random } from "../src/kernel/random.ts";
import { defaultAcknowledgements, releasedAt } from "../src/model/acknowledgements.ts";
import type { Scenario } from "../src/model/scenario.ts";
import { simulateCommand, adviseCommand } from "../src/index.ts";
import { drained, withCoordinator } from "../src/policies/drained.ts";
import { run } from "../src/run.ts";
import { scenarioFrom } from "../src/scenario/parse.ts";
import { equalSenders, file, meanOfAll, outcomesOf } from "./samples.ts";

/** Delays without chance. */
const model = {
  ...defaultAcknowledgements,
  coordinator: 30,
  network: 2,
  wake: 100,
  poll: 300,
  look: 20,
};
const withdrawal = { at: 1_000, applied: [0, 1_500, 2_400], incomplete: false };
const random = (): Random => new Random("reports");

test("a pod is released at the first look after the last consumer has applied its withdrawal", () => {
  // Woken at 1,132; looks at 1,132 + 300 n: the fifth comes after 2,400. It takes 20, and two messages 2 each.
  assert.equal(releasedAt(model, withdrawal, random()), 1_132 + 5 * 300 + 20 + 2 + 2);
  assert.equal(
    releasedAt(model, { ...withdrawal, applied: [900] }, random()),
    1_132 + 20 + 2 + 2,
    "at the first look, where all is applied by then",
  );
});

test("consumers are asked about a young pod once they must have added it", () => {
  const young = { ...withdrawal, applied: [0], publishedAt: -2_000 };
  assert.equal(releasedAt(model, young, random()), 8_000 + 102 + 20 + 2 + 2);
  assert.equal(releasedAt(model, { ...young, publishedAt: -60_000 }, random()), 1_132 + 20 + 2 + 2);
});

test("a silent consumer is left out after a time, or never, and one that nobody reports for is never left out", () => {
  const silent = { ...model, silent: 1 };
  const one = { ...withdrawal, applied: [0, 0, 0] };
  assert.equal(releasedAt(silent, one, random()), 1_030 + 1_000 + 10_000 + 2);
  assert.equal(releasedAt({ ...silent, mode: "consistency" }, one, random()), Infinity);
  assert.equal(releasedAt(model, { ...withdrawal, incomplete: true }, random()), Infinity);
  assert.equal(releasedAt({ ...model, silent: 2 }, one, random()), Infinity, "more than half of them");
});

test("an honest report comes after its rules are applied, and at most a look later", () => {
  const times = fc.array(fc.double({ min: 0, max: 60_000, noNaN: true }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(times, fc.integer(), (applied, seed) => {
      const released = releasedAt(defaultAcknowledgements, { ...withdrawal, applied }, new Random(seed));
      const last = Math.max(...applied);
      assert.ok(released >= last && released >= withdrawal.at);
      assert.ok(released <= Math.max(last, withdrawal.at) + 6_000, `${released - last}`);
      const lying = { ...defaultAcknowledgements, lying: applied.length };
      assert.ok(releasedAt(lying, { ...withdrawal, applied }, new Random(seed)) <= withdrawal.at + 6_000);
    }),
  );
});

/** Five nodes whose kube-proxies let go at 1 to 10 s. */
const nodes = { kind: "delay", delay: { uniform: [1_000, 10_000] } } as const;

function played(change: Partial<Scenario>, perPod = 25) {
  const scenario = equalSenders(5, perPod, nodes, {
    terminations: 60,
    acknowledgements: defaultAcknowledgements,
    ...change,
  });
  const pod = { grace: 120_000, reserve: 0 };
  const contenders = [
    drained("adaptive", pod),
    withCoordinator("adaptive, told", pod),
    withCoordinator("acknowledged", { ...pod, policy: "acknowledged" }),
  ];
  const result = run(scenario, contenders, { seed: 3 });
  return {
    alone: outcomesOf(result, 0),
    told: outcomesOf(result, 1),
    acknowledged: outcomesOf(result, 2),
    oracleOf: (termination: number): number => result.oracles[termination] ?? NaN,
  };
}

test("a pod that is told of its release holds a second longer than the oracle, loses nothing, and is never later than alone", () => {
  for (const perPod of [25, 0.2]) {
    const { alone, told, acknowledged, oracleOf } = played({}, perPod);
    for (const [index, { hold, lost }] of acknowledged.entries()) {
      assert.equal(lost, 0);
      const over = hold - oracleOf(index);
      assert.ok(over > 0 && over < 2_000, `${hold} ${over}`);
    }
    for (const [index, { hold }] of told.entries()) assert.ok(hold <= (alone[index]?.hold ?? NaN));
    assert.ok(meanOfAll(told.map(({ hold }) => hold)) < 0.9 * meanOfAll(alone.map(({ hold }) => hold)));
  }
});

test("a consumer that lies releases too early, and an arrival reveals it", () => {
  const lying = { ...defaultAcknowledgements, lying: 5 };
  const { told, alone, acknowledged, oracleOf } = played({ acknowledgements: lying });
  // 25 connections a second: within the half second that a release must settle, one comes.
  assert.ok(meanOfAll(told.map(({ expectedLost }) => expectedLost)) < 0.5);
  assert.ok(told.filter(({ hold }, index) => hold > oracleOf(index)).length > 50);
  assert.ok(Math.max(...acknowledged.map(({ hold }) => hold)) < 60_000, "its own evidence decides then");
  const strict = played({ acknowledgements: { ...lying, mode: "consistency" } });
  assert.ok(Math.min(...strict.acknowledged.map(({ hold }) => hold)) >= 120_000, "nothing else is believed");
  const rare = played({ acknowledgements: lying }, 0.5);
  assert.ok(
    rare.told.some(({ hold }, index) => hold < rare.oracleOf(index)),
    "with little traffic it is believed",
  );
  assert.ok(alone.every(({ lost }) => lost === 0));
});

test("the pod's own evidence decides where a consumer does not report, and where all are silent", () => {
  for (const change of [
    { senders: [{ name: "mute", count: 5, forwarder: nodes, share: 1, reports: false }] },
    { acknowledgements: { ...defaultAcknowledgements, silent: 5, mode: "consistency" as const } },
  ]) {
    const { alone, told } = played(change);
    assert.deepEqual(
      told.map(({ hold }) => hold),
      alone.map(({ hold }) => hold),
    );
  }
});

test("nodes that send nothing are waited for, and change nothing else", () => {
  const sending = { preset: "instant", count: 2 };
  const slow = { name: "others", convergence: 6_000, count: 100, share: 0 };
  const { scenario } = scenarioFrom({
    senders: [slow, sending],
    terminations: 20,
    acknowledgements: {},
    traffic: { perPod: 20, pooled: { connections: 2, perPod: 20 } },
  });
  assert.deepEqual(
    scenario.senders.map(({ name }) => name),
    ["instant", "others"],
  );
  const pod = { grace: 30_000 };
  const result = run(scenario, [drained("adaptive", pod), withCoordinator("told", pod)], { seed: 1 });
  assert.ok(Math.max(...result.oracles) < 3_000);
  assert.deepEqual(
    outcomesOf(result, 1).map(({ hold }) => hold),
    outcomesOf(result, 0).map(({ hold }) => hold),
    "its own evidence comes first",
  );
  assert.throws(() => scenarioFrom({ senders: [slow] }), { code: "LAMEDUCK_SCENARIO_INVALID" });
});

test("a scenario says how consumers behave, and policies that hear consumers are played where one reports", async (context) => {
  const few = { senders: "mesh:3", terminations: 6, replicas: 3 };
  const names = async (flags: object): Promise<string[]> =>
    (await simulateCommand({ ...few, ...flags })).json.policies.map(({ policy }) => policy);
  assert.ok(!(await names({})).includes("acknowledged"));
  assert.ok(
    (await names({ scenario: file(context, "told.yaml", "acknowledgements: {}\n") })).includes(
      "acknowledged",
    ),
  );
  const scenario = file(context, "silent.yaml", "acknowledgements: { silent: 1, mode: consistency }\n");
  const { json } = await simulateCommand({ ...few, scenario });
  assert.equal(json.scenario.acknowledgements?.silent, 1);
  assert.equal(json.scenario.acknowledgements.mode, "consistency");
  const told = json.policies.find(({ policy }) => policy === "adaptive, told");
  const acknowledged = json.policies.find(({ policy }) => policy === "acknowledged");
  assert.ok(acknowledged!.hold.mean > 20_000 && told!.hold.mean < 10_000);
});

test("the advice says what acknowledgements would buy", async () => {
  const { text, json } = await adviseCommand({
    senders: "kube-proxy-5s:5",
    replicas: 6,
    rps: 120,
    terminations: 12,
  });
  assert.match(
    text,
    /lameduck install --acknowledgements, policy adaptive\) would hold \S+s instead of \S+s/,
  );
  const having = json.instead.find(({ policy }) => policy === "with acknowledgements");
  assert.ok(having && having.hold.mean < json.expected.hold.mean);
});
