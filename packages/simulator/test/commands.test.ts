import assert from "node:assert/strict";
import { test } from "node:test";
import { simulateCommand } from "../src/index.ts";
import { file } from "./samples.ts";

const small = { senders: "idle-kube-proxy:3", replicas: 6, rps: 120, terminations: 12 };

test("lameduck simulate compares the usual remedies in a table, as JSON and as a page", async () => {
  const progress: number[] = [];
  const { text, json, html } = await simulateCommand({
    ...small,
    seed: 3,
    onProgress: (done) => progress.push(done),
  });
  for (const policy of [
    "nothing",
    "sleep 5",
    "quiet 5",
    "knative",
    "istio exit-on-zero",
    "w*",
    "adaptive",
    "oracle",
  ])
    assert.ok(text.includes(policy), policy);
  const lost = (name: string): number =>
    json.policies.find(({ policy }) => policy === name)?.lostPerTermination.mean ?? NaN;
  assert.ok(lost("nothing") > 5);
  assert.ok(lost("adaptive") < 0.01);
  assert.equal(lost("oracle"), 0);
  assert.deepEqual(JSON.parse(JSON.stringify(json)).schema, "lameduck.simulation/v1");
  assert.equal((html.match(/<svg [^>]*role="img"/g) ?? []).length, 4);
  assert.match(html, /<polyline [^>]*stroke-dasharray/, "lines differ without colours");
  assert.ok(!/(src|href)=/.test(html), "the page needs nothing else");
  assert.deepEqual(progress.slice(-1), [12]);
  // The shares of three senders in 200 terminations add up to a little more than 1.
  const { survival } = (await simulateCommand({ senders: "idle-kube-proxy:3", terminations: 200, seed: 1 }))
    .json;
  assert.equal(survival[0]?.share, 1);
  assert.equal((await simulateCommand({ ...small, seed: 3 })).text, text, "the same seed, the same table");
});

test("a simulation can be interrupted, and tells of what it has played", async () => {
  const controller = new AbortController();
  const { json } = await simulateCommand({
    ...small,
    signal: controller.signal,
    onProgress: (done) => {
      if (done === 4) controller.abort();
    },
  });
  assert.equal(json.terminations, 4);
});

test("lameduck simulate reads files and published experiments by name, and says where a mistake is", async (context) => {
  const path = file(
    context,
    "s.yaml",
    "name: mine\nterminations: 5\ntraffic: { perPod: 10 }\npolicy: { floor: 1s }\n",
  );
  const { json } = await simulateCommand({ scenario: path, replicas: 2 });
  assert.equal(json.scenario.name, "mine");
  assert.ok(json.policies.some(({ policy }) => policy === "yours"));
  const { json: published } = await simulateCommand({ scenario: "gke-neg", terminations: 5 });
  assert.equal(published.scenario.name, "gke-neg");
  const bad = file(context, "bad.yaml", "name: mine\nreplica: 5\n");
  await assert.rejects(simulateCommand({ scenario: bad }), {
    code: "LAMEDUCK_SCENARIO_INVALID",
    place: `${bad}:2:1`,
  });
  await assert.rejects(simulateCommand({ scenario: "/nowhere.yaml" }), {
    code: "LAMEDUCK_SCENARIO_UNREADABLE",
  });
});
