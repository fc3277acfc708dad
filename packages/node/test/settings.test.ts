import assert from "node:assert/strict";
import { test } from "node:test";
import { readFileSync } from "node:fs";
import { DrainError } from "@lameduck/drain";
import { variables } from "../src/environment.ts";
import { LameduckError, nodeErrors } from "../src/errors.ts";
import { parseSettings, type LameduckOptions } from "../src/settings.ts";

const pod = { KUBERNETES_SERVICE_HOST: "198.18.0.1" };

function settings(options: LameduckOptions, environment: Record<string, string> = {}) {
  return parseSettings({ environment, ...options });
}

test("outside Kubernetes nothing is waited for", () => {
  const { drain } = settings({});
  assert.deepEqual(drain.policy, { kind: "fixed", delay: 0 });
  assert.equal(drain.floor, 0);
});

test("outside Kubernetes a floor or policy asked for in code is kept", () => {
  assert.equal(settings({ floor: "3s" }).drain.floor, 3_000);
  assert.equal(settings({ floor: "3s" }).drain.policy.kind, "adaptive");
  assert.equal(settings({ policy: "quiet" }).drain.policy.kind, "quiet");
});

test("in a pod the decision has its own defaults", () => {
  const { drain, deadline } = settings({}, pod);
  assert.equal(drain.policy.kind, "adaptive");
  assert.equal(drain.floor, 1_000);
  assert.equal(deadline, 30_000);
});

test("any variable of ours means that somebody runs this as a pod", () => {
  assert.equal(settings({}, { LAMEDUCK_GRACE_PERIOD: "10s" }).drain.floor, 1_000);
});

test("every variable reaches its option", () => {
  const environment = {
    LAMEDUCK_POLICY: "adaptive",
    LAMEDUCK_FLOOR: "1s",
    LAMEDUCK_CAP: "20s",
    LAMEDUCK_GRACE_PERIOD: "40s",
    LAMEDUCK_PRESTOP: "4s",
    LAMEDUCK_RESERVE: "3s",
    LAMEDUCK_LOSS_BUDGET: "0.5",
    LAMEDUCK_CONVERGENCE: "7s",
  };
  const { drain, deadline } = settings({}, environment);
  assert.ok(drain.policy.kind === "adaptive");
  assert.deepEqual([drain.policy.lossBudget, drain.policy.convergence], [0.5, 7_000]);
  assert.equal(drain.floor, 0, "the preStop hook has held longer than the floor");
  assert.equal(drain.cap, 20_000);
  assert.equal(deadline, 36_000);
  const quiet = settings({}, { LAMEDUCK_POLICY: "quiet", LAMEDUCK_WINDOW: "9s" });
  assert.deepEqual(quiet.drain.policy, { kind: "quiet", window: 9_000 });
  const fixed = settings({}, { LAMEDUCK_POLICY: "fixed", LAMEDUCK_DELAY: "6s" });
  assert.deepEqual(fixed.drain.policy, { kind: "fixed", delay: 6_000 });
});

test("options in code win over the environment", () => {
  assert.equal(settings({ floor: "1s" }, { LAMEDUCK_FLOOR: "9s" }).drain.floor, 1_000);
  assert.equal(settings({ floor: undefined as never }, { LAMEDUCK_FLOOR: "9s" }).drain.floor, 9_000);
});

test("hints leave time before a hold with a fixed end is over", () => {
  assert.equal(settings({ policy: "fixed", delay: "10s", floor: "2s" }, pod).hintAt, 2_000);
  assert.equal(settings({ policy: "fixed", delay: "2s", floor: "5s" }, pod).hintAt, 3_000);
  assert.equal(settings({ policy: "fixed", delay: "1s", floor: "1s" }, pod).hintAt, 500);
});

const mistakes: [
  title: string,
  options: LameduckOptions,
  environment: Record<string, string>,
  code: string,
  place: string,
][] = [
  ["a misspelt option", { flor: 3 } as never, {}, "LAMEDUCK_UNKNOWN_OPTION", "flor"],
  ["a wrong duration in code", { floor: "5 parsecs" }, {}, "LAMEDUCK_BAD_DURATION", "floor"],
  [
    "a wrong duration in the environment",
    {},
    { LAMEDUCK_FLOOR: "5 parsecs" },
    "LAMEDUCK_BAD_DURATION",
    "LAMEDUCK_FLOOR",
  ],
  [
    "a grace period in bare seconds",
    {},
    { LAMEDUCK_GRACE_PERIOD: "30" },
    "LAMEDUCK_BAD_DURATION",
    "LAMEDUCK_GRACE_PERIOD",
  ],
  ["an unknown policy", {}, { LAMEDUCK_POLICY: "hope" }, "LAMEDUCK_UNKNOWN_POLICY", "LAMEDUCK_POLICY"],
  [
    "a loss budget that is no number",
    {},
    { LAMEDUCK_LOSS_BUDGET: "few" },
    "LAMEDUCK_BAD_NUMBER",
    "LAMEDUCK_LOSS_BUDGET",
  ],
  ["a floor above the cap", { floor: "9s", cap: "8s" }, {}, "LAMEDUCK_FLOOR_ABOVE_CAP", "floor"],
  [
    "a reserve larger than grace",
    {},
    { LAMEDUCK_RESERVE: "40s" },
    "LAMEDUCK_NO_TIME_TO_HOLD",
    "LAMEDUCK_RESERVE",
  ],
  [
    "a load balancer slower than the cap",
    { lbHealth: { path: "/h", wait: "60s" } },
    {},
    "LAMEDUCK_BAD_OPTION",
    "lbHealth.wait",
  ],
  ["a logger that cannot log", { log: {} as never }, {}, "LAMEDUCK_BAD_OPTION", "log"],
  ["a relative probe path", { probes: { paths: ["healthz"] } }, {}, "LAMEDUCK_BAD_OPTION", "probes.paths"],
  ["an unknown probe option", { probes: { path: "/" } as never }, {}, "LAMEDUCK_BAD_OPTION", "probes.path"],
  ["exit that is no boolean", { exit: 1 as never }, {}, "LAMEDUCK_BAD_OPTION", "exit"],
  [
    "handlers neither held nor left",
    { otherHandlers: "kill" as never },
    {},
    "LAMEDUCK_BAD_OPTION",
    "otherHandlers",
  ],
  ["options that are no object", 5 as never, {}, "LAMEDUCK_BAD_OPTION", "options"],
];

for (const [title, options, environment, code, place] of mistakes)
  test(`${title} is a coded error that names its place`, () => {
    const parse = (): unknown =>
      typeof options === "object" ? settings(options, environment) : parseSettings(options);
    assert.throws(parse, (error) => {
      assert.ok(error instanceof DrainError || error instanceof LameduckError);
      assert.deepEqual([error.code, error.option], [code, place]);
      assert.ok(error.remedy.length > 10);
      return true;
    });
  });

test("the page lists every code with its remedy, and every variable", () => {
  const page = readFileSync(new URL("../../../docs/node.md", import.meta.url), "utf8");
  const listed = [...page.matchAll(/^\| `(LAMEDUCK_[A-Z_]+)` +\| (?!.*`)(.*?) *\|$/gm)].map(
    ([, code, text]) => [code, text],
  );
  assert.deepEqual(listed, Object.entries(nodeErrors));
  for (const name of Object.keys(variables)) assert.ok(page.includes(`\`${name}\``), name);
});

test("every code has a remedy and the house's form", () => {
  for (const [code, remedy] of Object.entries(nodeErrors)) {
    assert.match(code, /^LAMEDUCK_[A-Z_]+$/);
    assert.ok(remedy.length > 10);
  }
});
