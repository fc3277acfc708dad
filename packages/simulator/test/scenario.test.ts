import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { SimulatorError } from "../src/errors.ts";
import { withFlags } from "../src/scenario/flags.ts";
import { parseScenario, scenarioFrom } from "../src/scenario/parse.ts";

const mistakes: [title: string, text: string, code: string, place: string, said: RegExp][] = [
  [
    "an unknown key",
    "replicas: 3\ntrafic:\n  perPod: 1\n",
    "LAMEDUCK_SCENARIO_INVALID",
    "s.yaml:2:",
    /unknown key "trafic"/,
  ],
  [
    "an unknown key deeper down",
    "traffic:\n  perpod: 1\n",
    "LAMEDUCK_SCENARIO_INVALID",
    "s.yaml:2:",
    /unknown key "perpod"/,
  ],
  ["zero replicas", "replicas: 0\n", "LAMEDUCK_SCENARIO_INVALID", "s.yaml:1:1", /must be at least 1$/],
  ["half a replica", "replicas: 1.5\n", "LAMEDUCK_SCENARIO_INVALID", "s.yaml:1:1", /must be a whole number$/],
  ["no sender", "senders: []\n", "LAMEDUCK_SCENARIO_INVALID", "s.yaml:1:1", /must be a list of at least 1$/],
  [
    "a negative rate",
    "traffic:\n  perPod: -5\n",
    "LAMEDUCK_SCENARIO_INVALID",
    "s.yaml:2:3",
    /perPod: must be/,
  ],
  [
    "an unknown preset",
    "senders:\n  - preset: nginx\n",
    "LAMEDUCK_UNKNOWN_PRESET",
    "s.yaml:2:",
    /known are .*ingress-nginx/,
  ],
  ["a word for a duration", "pod:\n  grace: soon\n", "LAMEDUCK_SCENARIO_INVALID", "s.yaml:2:3", /duration/],
  [
    "a grace period shorter than the floor",
    "pod: { grace: 10s }\npolicy:\n  floor: 9s\n",
    "LAMEDUCK_SCENARIO_IMPOSSIBLE",
    "s.yaml:3:3",
    /LAMEDUCK_FLOOR_ABOVE_CAP/,
  ],
  [
    "a preStop hook as long as the grace period",
    "pod:\n  grace: 10s\n  prestop: 10s\n",
    "LAMEDUCK_SCENARIO_IMPOSSIBLE",
    "s.yaml:2:3",
    /nothing to hold/,
  ],
  [
    "two rates",
    "traffic: { perPod: 1, total: 2 }\n",
    "LAMEDUCK_SCENARIO_IMPOSSIBLE",
    "s.yaml:1:",
    /perPod is given/,
  ],
  [
    "a rollout that cannot begin",
    "rollout: { maxSurge: 0, maxUnavailable: 0 }\n",
    "LAMEDUCK_SCENARIO_IMPOSSIBLE",
    "s.yaml:1:",
    /no rollout could begin/,
  ],
  [
    "no traffic",
    "traffic: { perPod: 0 }\n",
    "LAMEDUCK_SCENARIO_IMPOSSIBLE",
    "s.yaml:1:12",
    /no request comes/,
  ],
  [
    "more silent consumers than there are",
    "acknowledgements: { silent: 4 }\n",
    "LAMEDUCK_SCENARIO_IMPOSSIBLE",
    "s.yaml:1:21",
    /4 of 3 senders that report/,
  ],
  [
    "two documents",
    "replicas: 1\n---\nreplicas: 2\n",
    "LAMEDUCK_SCENARIO_SYNTAX",
    "s.yaml:2:",
    /a second document/,
  ],
  [
    "aliases without end",
    `a: &a [1]\n${["b", "c", "d", "e"].map((name, index) => `${name}: &${name} [${`*${"abcd"[index]}, `.repeat(20)}]\n`).join("")}`,
    "LAMEDUCK_SCENARIO_SYNTAX",
    "s.yaml",
    /alias/,
  ],
  [
    "a sender's share that is no number",
    "senders: [{ preset: alb, share: most }]\n",
    "LAMEDUCK_SCENARIO_INVALID",
    "s.yaml:1:26",
    /senders\.0\.share: .*expected number/,
  ],
  [
    "a convergence that is no time",
    "senders: [{ name: a, convergence: 1x }]\n",
    "LAMEDUCK_SCENARIO_INVALID",
    "s.yaml:1:22",
    /senders\.0\.convergence: "1x" is not a duration/,
  ],
  [
    "stalls of more than all the time",
    "pod: { stalls: { share: 1.5, length: 1s } }\n",
    "LAMEDUCK_SCENARIO_INVALID",
    "s.yaml:1:18",
    /share/,
  ],
  ["broken YAML", "replicas: [1\n", "LAMEDUCK_SCENARIO_SYNTAX", "s.yaml:2:", /./],
  ["broken JSON", '{"replicas": }', "LAMEDUCK_SCENARIO_INVALID", "s.yaml:1:", /replicas/],
  [
    "a policy that does not exist",
    "policy: { policy: magic }\n",
    "LAMEDUCK_SCENARIO_IMPOSSIBLE",
    "s.yaml:1:",
    /LAMEDUCK_UNKNOWN_POLICY/,
  ],
  ...[
    "pod: { grace: 20 }\n",
    'pod: { grace: "20" }\n',
    "policy: { floor: 20 }\n",
    "senders: [{ name: a, convergence: 20 }]\n",
    "senders: [{ name: a, convergence: { sum: [1s, { uniform: [20, 30s] }] } }]\n",
    "senders: [{ name: a, kubeProxy: { minSyncPeriod: 20 } }]\n",
    "traffic: { service: { lognormal: [20, 100ms] } }\n",
  ].map((text): (typeof mistakes)[number] => [
    `a duration without a unit (${text.trim()})`,
    text,
    "LAMEDUCK_SCENARIO_INVALID",
    "s.yaml:1:",
    /: "20" has no unit: write "20s" for 20 seconds or "20ms" for 20 milliseconds$/,
  ]),
  ...["endpoints: { cacheLag: 700h }\n", "senders: [{ name: a, convergence: { uniform: [1s, 61m] } }]\n"].map(
    (text): (typeof mistakes)[number] => [
      `a time that no simulation ends with (${text.trim()})`,
      text,
      "LAMEDUCK_SCENARIO_INVALID",
      "s.yaml:1:",
      /: is longer than 1h, /,
    ],
  ),
  [
    "a falling range",
    "senders:\n  - name: a\n    convergence: { uniform: [5s, 1s] }\n",
    "LAMEDUCK_SCENARIO_INVALID",
    "s.yaml:",
    /senders/,
  ],
];

for (const [title, text, code, place, said] of mistakes)
  test(`a scenario with ${title} is refused with its place`, () => {
    assert.throws(
      () => parseScenario(text, "s.yaml"),
      (error) => {
        assert.ok(error instanceof SimulatorError, String(error));
        assert.equal(error.code, code, error.message);
        assert.ok(error.place.startsWith(place), `${error.place} instead of ${place}`);
        assert.match(error.message, said);
        assert.ok(error.remedy.length > 0);
        return true;
      },
    );
  });

test("a wrong setting of the own policy is refused with the remedy of that setting", () => {
  for (const [setting, remedy] of [
    ["lossBudget: 0", /give a finite number/],
    ["floor: 5m", /lower the floor/],
  ] as const)
    assert.throws(() => parseScenario(`policy: { ${setting} }\n`, "s.yaml"), { remedy });
});

test("every field of the page can be given, also the fields in its comments", () => {
  const page = readFileSync(
    join(import.meta.dirname, "..", "..", "..", "docs", "tools", "simulate.md"),
    "utf8",
  );
  const [, fields = ""] = /```yaml\n(.*?)```/s.exec(page) ?? [];
  const commented = [...fields.matchAll(/^ *# (\w+): (.*?)(?: {3}.*)?$/gm)].map(
    ([, name = "", value = ""]) => ({ name, value }),
  );
  assert.ok(commented.length >= 5, `${commented.length} fields in comments`);
  const sections: Record<string, string> = {
    clients: "traffic",
    snat: "traffic",
    pooled: "traffic",
    drawn: "endpoints",
  };
  for (const { name, value } of commented.filter(({ name }) => name !== "reserve"))
    parseScenario(`${sections[name] ?? "pod"}: { ${name}: ${value} }\n`);
  const { scenario } = parseScenario("pod: { stalls: { share: { uniform: [0, 0.4] }, length: 100ms } }\n");
  assert.deepEqual(scenario.pod.stalls, { share: { uniform: [0, 0.4] }, length: 100 });
});

test("a scenario in YAML and the same one in JSON are equal", () => {
  const yaml =
    "replicas: 4\nsenders: [{ preset: traefik, count: 2 }]\ntraffic: { total: 100, arrivals: { bursty: 3 } }\n";
  const json =
    '{"replicas":4,"senders":[{"preset":"traefik","count":2}],"traffic":{"total":100,"arrivals":{"bursty":3}}}';
  assert.deepEqual(parseScenario(yaml), parseScenario(json));
  assert.equal(parseScenario(yaml).scenario.traffic.perPod, 25);
});

test("an empty file is a scenario of defaults", () => {
  const { scenario, policy } = parseScenario("");
  assert.equal(policy, undefined);
  assert.equal(scenario.replicas, 10);
  assert.deepEqual(scenario.rollout, {
    kind: "deployment",
    maxSurge: 3,
    maxUnavailable: 2,
    ready: { uniform: [2_000, 5_000] },
    listedBefore: 0,
  });
});

test("a flag replaces what the file says", () => {
  const flags = {
    senders: "alb:2,mesh",
    rps: 90,
    replicas: 9,
  };
  const { scenario } = scenarioFrom(withFlags({ traffic: { perPod: 7 }, pod: { prestop: "5s" } }, flags));
  assert.deepEqual(
    scenario.senders.map(({ name, count }) => [name, count]),
    [
      ["alb", 2],
      ["mesh", 1],
    ],
  );
  assert.equal(scenario.traffic.perPod, 10);
  assert.equal(scenario.pod.prestop, 5_000);
  assert.throws(() => withFlags({}, { senders: "alb:0" }), { code: "LAMEDUCK_SCENARIO_INVALID" });
});
