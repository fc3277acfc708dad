import assert from "node:assert/strict";
import { test } from "node:test";
import { parse, parseAllDocuments } from "yaml";
import { adviseCommand } from "../src/index.ts";
import { meanOf } from "@lameduck/load/propagation";
import { file } from "./samples.ts";

/** As the workload of a manifest is given. */
function manifestOf(text: string): { readonly object: unknown; readonly place: string } {
  return { object: parseAllDocuments(text).at(-1)?.toJS(), place: "d.yaml:1:1" };
}

const small = { senders: "idle-kube-proxy:3", replicas: 6, rps: 120, terminations: 12 };

test("the advice gives settings that lose next to nothing, their arithmetic, and a patch", async () => {
  const { json, text, patch } = await adviseCommand({ ...small, senders: "alb:2", terminations: 40 });
  assert.ok(json.recommended.grace >= 30_000, "an ALB needs up to 25 s");
  assert.ok(json.expected.lostPerTermination.mean < 0.05, `${json.expected.lostPerTermination.mean}`);
  assert.ok((json.instead[0]?.lostPerTermination.mean ?? 0) > 10);
  assert.match(text, /terminationGracePeriodSeconds/);
  assert.ok(json.arithmetic.length >= 5);
  const { spec } = parse(patch) as {
    spec: { template: { spec: { terminationGracePeriodSeconds: number } } };
  };
  assert.equal(spec.template.spec.terminationGracePeriodSeconds, json.recommended.grace / 1_000);
});

test("the advice puts the environment's time into the floor where silence says nothing", async () => {
  const { json: quiet } = await adviseCommand({
    senders: "alb:20",
    replicas: 4,
    rps: 0.4,
    terminations: 40,
  });
  assert.ok(quiet.recommended.floor >= 20_000, `${quiet.recommended.floor}`);
  assert.match(quiet.arithmetic.join("\n"), /silence says nothing/);
});

test("the advice gives no more grace than the environment needs, and says what a cap would save", async () => {
  const { json } = await adviseCommand({ senders: "alb:3", replicas: 10, rps: 30, terminations: 60 });
  // Targets are gone after 26 s at the latest; without that knowledge some holds would go on for a minute.
  assert.ok(json.recommended.grace <= 45_000, `${json.recommended.grace}`);
  const capped = json.instead.find(({ policy }) => policy.startsWith("cap "));
  assert.ok(capped && capped.hold.mean < json.expected.hold.mean, JSON.stringify(capped));
  assert.ok(capped.lostPerTermination.mean < 0.05);
});

test("a grace period that somebody has set is never shortened by the advice", async () => {
  const manifest = manifestOf(
    "kind: Deployment\nmetadata: { name: uploads }\nspec: { replicas: 4, template: { spec: { terminationGracePeriodSeconds: 300 } } }\n",
  );
  const { json, patch } = await adviseCommand({ ...small, manifest, replicas: undefined });
  assert.equal(json.recommended.grace, 300_000);
  assert.match(patch, /terminationGracePeriodSeconds: 300\b/);
  assert.match(json.arithmetic.join("\n"), /grace 300s: as it is set; needed are \d+s/);
});

test("the advice takes the rollout from a manifest and convergence from a recording", async (context) => {
  const manifest = manifestOf(
    "kind: Service\n---\nkind: Deployment\nmetadata: { name: shop }\nspec: { replicas: 8, template: { spec: { terminationGracePeriodSeconds: 45 } } }\n",
  );
  const recording = file(
    context,
    "r.json",
    JSON.stringify({
      settings: { replicas: 8 },
      remedies: [
        { sent: 8_000, duration: 20_000, each: [{ oracle: 900 }, { oracle: 1_800 }, {}, { oracle: 2_500 }] },
      ],
    }),
  );
  const { json } = await adviseCommand({ manifest, recording, terminations: 20 });
  assert.equal(json.scenario.name, "shop");
  assert.equal(json.scenario.replicas, 8);
  assert.equal(json.scenario.traffic.perPod, 50);
  assert.ok(json.recommended.convergence <= 2_500);
  assert.match(json.unknown.join("\n"), /--senders/, "only the last sender is known");
  const nothing = manifestOf("kind: Service\n");
  await assert.rejects(adviseCommand({ manifest: nothing }), { code: "LAMEDUCK_SCENARIO_INVALID" });
  const empty = file(context, "e.json", "{}");
  await assert.rejects(adviseCommand({ recording: empty }), { code: "LAMEDUCK_SCENARIO_INVALID" });
  const hold = file(
    context,
    "hold.jsonl",
    '{"lameduck":"trace","version":1}\n{"type":"termination","at":0}\n',
  );
  await assert.rejects(adviseCommand({ recording: hold }), {
    remedy: /lab --json .*`lameduck explain` reads/,
  });
});

const workload = (kind: string, container: string, spec = ""): string =>
  `kind: ${kind}\nmetadata: { name: shop }\nspec: { ${spec} template: { spec: { terminationGracePeriodSeconds: 60, containers: [
    { name: proxy }, ${container} ] } } }\n`;

test("the time of a preStop hook is read, planned for and told to the pod", async (context) => {
  const hooks: Record<string, number | undefined> = {
    "{ sleep: { seconds: 12 } }": 12_000,
    '{ exec: { command: [sleep, "12"] } }': 12_000,
    '{ exec: { command: [/bin/sh, -c, "sleep 12"] } }': 12_000,
    '{ exec: { command: [sh, -c, "nginx -s quit; sleep 12"] } }': undefined,
    "{ httpGet: { path: /bye, port: 80 } }": undefined,
  };
  const scenario = file(context, "own.yaml", "pod: { prestop: 7s }\n");
  for (const [hook, prestop] of Object.entries(hooks)) {
    const container = `{ name: web, ports: [ { containerPort: 80 } ], lifecycle: { preStop: ${hook} } }`;
    const manifest = manifestOf(workload("Deployment", container));
    const { json, patch } = await adviseCommand({ ...small, manifest });
    assert.equal(json.scenario.pod.prestop, prestop ?? 0, hook);
    assert.match(patch, /name: "web"/, "the container that serves");
    if (prestop === undefined)
      assert.match(json.unknown.join(), /preStop hook of web .*pod: \{ prestop: 10s \}/);
    else {
      assert.deepEqual(json.unknown, []);
      assert.match(patch, /LAMEDUCK_PRESTOP\n +value: "12s"/);
      assert.ok(json.recommended.cap <= json.recommended.grace - 12_000 - json.recommended.reserve);
    }
    const said = await adviseCommand({ ...small, manifest, scenario });
    assert.equal(said.json.scenario.pod.prestop, 7_000);
    assert.deepEqual(said.json.unknown, []);
  }
});

test("a workload that replaces its pods in place gets no surge, and a DaemonSet no made-up number of pods", async () => {
  const daemons = manifestOf(workload("DaemonSet", "{ name: agent }"));
  await assert.rejects(adviseCommand({ senders: "idle-kube-proxy:3", manifest: daemons }), {
    code: "LAMEDUCK_SCENARIO_INVALID",
    message: /--replicas/,
  });
  const { json, patch } = await adviseCommand({ ...small, manifest: daemons });
  assert.ok(!patch.includes("trategy"), patch);
  assert.match(json.arithmetic.join("\n"), /DaemonSet replaces 1 at a time/);
  // One pod after the other, each starting when the one before has gone.
  assert.ok(
    json.expected.rolloutTime > 5 * (json.expected.hold.mean + 2_000),
    `${json.expected.rolloutTime}`,
  );
  const many = "updateStrategy: { rollingUpdate: { maxUnavailable: 3 } },";
  const wide = manifestOf(workload("DaemonSet", "{ name: agent }", many));
  const faster = await adviseCommand({ ...small, manifest: wide });
  assert.ok(faster.json.expected.rolloutTime < json.expected.rolloutTime / 2);
  const surging = "updateStrategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },";
  const surge = manifestOf(workload("DaemonSet", "{ name: agent }", surging));
  assert.match((await adviseCommand({ ...small, manifest: surge })).patch, /updateStrategy/);
  const sets = manifestOf(workload("StatefulSet", "{ name: db }"));
  assert.ok(!(await adviseCommand({ ...small, manifest: sets })).patch.includes("trategy"));
});

test("a cap that shortens nothing is not advised", async () => {
  for (const senders of ["alb:2", "alb:3"]) {
    const { json, text } = await adviseCommand({
      senders,
      rps: senders === "alb:2" ? 500 : 30,
      terminations: 60,
    });
    const capped = json.instead.find(({ policy }) => policy.startsWith("cap "));
    assert.equal(capped !== undefined, text.includes("shortens holds"), senders);
    if (capped) assert.ok(capped.hold.mean < json.expected.hold.mean, senders);
  }
});

test("a recording of a lab gives back the lab's own assumption, and the advice says so unless senders are named", async (context) => {
  const recording = file(
    context,
    "lab.json",
    JSON.stringify({
      tool: "lab",
      settings: { workload: { replicas: 2 }, propagation: { name: "busy-iptables" } },
      remedies: [{ each: [{ pod: "a", deletedAt: 0, oracle: 3_000, rps: 50 }] }],
    }),
  );
  const { text } = await adviseCommand({ recording, terminations: 12, rps: 50 });
  assert.match(
    text,
    /unknown: how late the senders .* lab's own assumption \(--propagation busy-iptables\), not a measurement/,
  );
  const named = await adviseCommand({ recording, terminations: 12, rps: 50, senders: "idle-kube-proxy:3" });
  assert.doesNotMatch(named.text, /own assumption/);
});

test("a recording has as many senders as it names, and delays that they shared stay shared", async (context) => {
  const times = [0, 400, 900, 2_500];
  const pods = Array.from({ length: 10 }, (_, pod) => ({
    name: `web-${pod}`,
    deletedAt: 1_000 + 10_000 * pod,
  }));
  const recordingOf = (senders: number): string =>
    JSON.stringify({
      settings: { workload: { replicas: 5 }, load: { pooledShare: 0.5 } },
      remedies: [
        {
          sent: 20_000,
          duration: 20_000,
          each: pods.map(({ name, deletedAt }) => ({ pod: name, deletedAt, oracle: 3_500 })),
          timeline: {
            senders: pods.flatMap(({ name, deletedAt }, pod) =>
              Array.from({ length: senders }, (_, sender) => ({
                type: "converged",
                pod: name,
                sender: `node-${sender}`,
                // The controller takes a second for every other pod.
                at: deletedAt + (pod % 2) * 1_000 + (times[sender % 4] ?? 0),
              })),
            ),
          },
        },
      ],
    });
  const few = await adviseCommand({ recording: file(context, "few.json", recordingOf(4)), terminations: 40 });
  const many = await adviseCommand({
    recording: file(context, "many.json", recordingOf(400)),
    terminations: 40,
  });
  assert.equal(few.json.scenario.senders[0]?.count, 4);
  assert.equal(few.json.scenario.replicas, 5);
  assert.equal(few.json.scenario.traffic.perPod, 100, "half of 1,000 a second went over kept connections");
  assert.deepEqual(few.json.unknown, []);
  const { drawn } = few.json.scenario.endpoints;
  assert.equal(meanOf(drawn ?? 0), 450, "0 and 1 s, in straight lines");
  assert.ok(
    few.json.recommended.floor < many.json.recommended.floor,
    "the more senders, the less silence says",
  );
});

test("the advice names a plain sleep where that is as good, and what it does not cover", async () => {
  const { json: quiet } = await adviseCommand({ ...small, rps: 6 });
  const line = quiet.arithmetic.find((each) => each.includes("is as good here")) ?? "";
  const [, sleep = ""] = /^(sleep \d+) is as good here.*EndpointSlice/.exec(line) ?? [];
  const slept = quiet.instead.find(({ policy }) => policy === sleep);
  assert.ok(slept && slept.hold.mean <= quiet.expected.hold.mean, line);
  const { json: busy } = await adviseCommand({ ...small, terminations: 20 });
  assert.doesNotMatch(busy.arithmetic.join("\n"), /is as good here/);
});
