import assert from "node:assert/strict";
import { test } from "node:test";
import { DrainError } from "@lameduck/drain";
import { libraryVariables, rows } from "@lameduck/options";
import { LameduckError } from "../src/errors.ts";
import type { LameduckOptions } from "../src/index.ts";
import { parseSettings } from "../src/options/settings.ts";

const pod = { KUBERNETES_SERVICE_HOST: "198.18.0.1", LAMEDUCK_GRACE_PERIOD: "30s" };

function settings(options: LameduckOptions, environment: Record<string, string> = {}) {
  return parseSettings({ environment, ...options });
}

test("outside Kubernetes nothing is waited for", () => {
  const { drain } = settings({});
  assert.deepEqual(drain.policy, { kind: "fixed", delay: 0 });
  assert.equal(drain.floor, 0);
});

test("outside Kubernetes code does not make a developer's restart wait, and is checked all the same", () => {
  for (const options of [
    { floor: "3s" },
    { policy: "quiet", window: "9s" },
    { policy: "fixed", delay: "3s" },
    { delay: "3s" },
    { policy: "acknowledged" },
    { lbHealth: { wait: "3s" } },
  ] as LameduckOptions[]) {
    const { drain, warnings } = settings(options);
    assert.deepEqual([drain.policy, drain.floor, drain.requestQuiet], [{ kind: "fixed", delay: 0 }, 0, 0]);
    assert.deepEqual(warnings, []);
  }
  assert.throws(() => settings({ floor: "3" }), { place: "floor" });
});

test("in a pod the decision has defaults of its own", () => {
  const { drain, deadline } = settings({}, pod);
  assert.equal(drain.policy.kind, "adaptive");
  assert.equal(drain.floor, 1_000);
  assert.equal(deadline, 30_000);
});

test("outside Kubernetes the library waits only where a variable tells the grace period, the preStop time, the policy, the delay or the floor", () => {
  for (const name of ["LAMEDUCK_GRACE_PERIOD", "LAMEDUCK_PRESTOP"]) {
    const { drain } = settings({ prestop: 0 }, { [name]: "10s" });
    assert.deepEqual([drain.policy.kind, drain.floor, drain.requestQuiet], ["adaptive", 1_000, 1_000]);
  }
  const own: Record<string, string> = {
    LAMEDUCK_SIGNALS: "SIGTERM",
    LAMEDUCK_PROBES: "/healthz",
    LAMEDUCK_STREAM_PATHS: "/poll",
  };
  const asking = ["LAMEDUCK_POLICY", "LAMEDUCK_DELAY", "LAMEDUCK_FLOOR"];
  for (const { variable, name, injected } of libraryVariables) {
    const { kind, choices = [], decides } = rows[name];
    if (injected || name === "grace" || name === "prestop") continue;
    const values: Record<string, string> = {
      duration: "3s",
      number: "0.1",
      "whole number": "64",
      choice: decides ? "quiet" : (choices.at(-1) ?? ""),
      path: "/tmp/hold.jsonl",
    };
    const { policy, floor } = settings({}, { [variable]: values[kind] ?? own[variable] ?? "" }).drain;
    const isNothing = policy.kind === "fixed" && policy.delay === 0 && floor === 0;
    assert.equal(isNothing, !asking.includes(variable), variable);
  }
});

test("outside Kubernetes a variable switches the hold on, and then options in code count", () => {
  assert.equal(settings({}, { LAMEDUCK_POLICY: "adaptive" }).drain.policy.kind, "adaptive");
  assert.deepEqual(settings({}, { LAMEDUCK_DELAY: "3s" }).drain.policy, { kind: "fixed", delay: 3_000 });
  const { policy, floor } = settings({ policy: "quiet" }, { LAMEDUCK_FLOOR: "3s" }).drain;
  assert.deepEqual([policy.kind, floor], ["quiet", 3_000]);
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

test("paths of probes and streams can be named by variables, where code names none", () => {
  const environment = { LAMEDUCK_PROBES: "/healthz, /ready", LAMEDUCK_STREAM_PATHS: "/poll" };
  const request = (url: string) => ({ method: "GET", url, headers: {} });
  const { isProbe, isStream } = settings({}, environment);
  assert.deepEqual(
    ["/healthz?a", "/ready", "/poll"].map((url) => isProbe(request(url))),
    [true, true, false],
  );
  assert.deepEqual(
    ["/healthz", "/poll"].map((url) => isStream(request(url))),
    [false, true],
  );
  const named = settings({ probes: { paths: ["/alive"] }, streams: {} }, environment);
  assert.deepEqual(
    ["/alive", "/ready"].map((url) => named.isProbe(request(url))),
    [true, false],
  );
  assert.equal(named.isStream(request("/poll")), false);
});

test("options in code win over the environment", () => {
  assert.equal(settings({ floor: "1s" }, { LAMEDUCK_FLOOR: "9s" }).drain.floor, 1_000);
  assert.equal(settings({ floor: undefined as never }, { LAMEDUCK_FLOOR: "9s" }).drain.floor, 9_000);
});

test("a time-out bounds the hold and the closing together", () => {
  const { drain, deadline } = settings({ timeout: "9s" }, { ...pod, LAMEDUCK_PRESTOP: "10s" });
  assert.equal(deadline, 9_000);
  assert.equal(drain.cap, 6_000, "a third is kept for closing");
  assert.throws(() => settings({ timeout: "9s" }, { ...pod, LAMEDUCK_CAP: "8s" }), {
    code: "LAMEDUCK_CAP_ABOVE_GRACE",
    place: "LAMEDUCK_CAP",
  });
  assert.throws(() => settings({ timeout: "25s", prestop: "10s" }, {}), {
    code: "LAMEDUCK_BAD_OPTION",
    message: "timeout: 25s is not above 0 and at most the 20s that the grace period leaves",
  });
});

test("the spread is a part of the grace period of its own, and counts only where there is a hold", () => {
  const long = { ...pod, LAMEDUCK_GRACE_PERIOD: "180s", LAMEDUCK_PRESTOP: "10s" };
  const { drain, spread, deadline } = settings({}, { ...long, LAMEDUCK_SPREAD: "2m" });
  assert.deepEqual([drain.cap, spread, deadline], [45_000, 120_000, 170_000]);
  assert.equal(settings({ spread: "1m" }, { ...long, LAMEDUCK_SPREAD: "2m" }).spread, 60_000);
  assert.equal(settings({ spread: "1m", reserve: "20s" }, long).drain.cap, 90_000);
  assert.equal(settings({}, { LAMEDUCK_SPREAD: "2m" }).spread, 0);
  const injected = settings({}, { ...pod, LAMEDUCK_SPREAD: "15s", LAMEDUCK_CAP: "25s" });
  assert.equal(injected.drain.cap, 10_000);
  assert.match(injected.warnings.join("\n"), /^LAMEDUCK_CAP: lowered to the 10s that LAMEDUCK_SPREAD leaves/);
});

test("times that a platform tells never keep a program from starting that starts without them", () => {
  const injected = { ...pod, LAMEDUCK_GRACE_PERIOD: "85s", LAMEDUCK_PRESTOP: "25s" };
  const inCode = { grace: "60s", cap: "50s", floor: "40s" } as const;
  const { drain, deadline, warnings } = settings(inCode, injected);
  assert.deepEqual(
    [drain.cap, drain.floor, drain.prestop, deadline],
    [50_000, 40_000, 0, 60_000],
    "as without the injection",
  );
  assert.deepEqual(warnings, [
    "LAMEDUCK_PRESTOP: left out, as options in code need more: cap: 50s is more than 60s grace - 25s preStop - 5s reserve = 30s",
  ]);
  for (const code of [{ timeout: "30s" }, { reserve: "31s", grace: "40s" }, { cap: "20s" }] as const)
    assert.doesNotThrow(() =>
      settings(code, { ...pod, LAMEDUCK_GRACE_PERIOD: "30s", LAMEDUCK_PRESTOP: "25s" }),
    );
  assert.doesNotThrow(() => settings({ cap: "20s" }, { ...pod, LAMEDUCK_GRACE_PERIOD: "3000000s" }));
  assert.throws(() => settings({}, { ...pod, LAMEDUCK_PRESTOP: "40s" }), { place: "LAMEDUCK_GRACE_PERIOD" });
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
  ["an unknown policy", {}, { LAMEDUCK_POLICY: "hope" }, "LAMEDUCK_UNKNOWN_POLICY", "LAMEDUCK_POLICY"],
  ["a delay that is missing", {}, { LAMEDUCK_POLICY: "fixed" }, "LAMEDUCK_MISSING_OPTION", "LAMEDUCK_DELAY"],
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
  ["a signal that does not exist", { signals: ["SIGTREM"] as never }, {}, "LAMEDUCK_BAD_OPTION", "signals"],
  ["a signal that no process can handle", { signals: ["SIGKILL"] }, {}, "LAMEDUCK_BAD_OPTION", "signals"],
  ["an empty list of signals", { signals: [] }, {}, "LAMEDUCK_BAD_OPTION", "signals"],
  [
    "a signal in the environment that does not exist",
    {},
    { LAMEDUCK_SIGNALS: "SIGTERM,15" },
    "LAMEDUCK_BAD_OPTION",
    "LAMEDUCK_SIGNALS",
  ],
  ["exit that is no boolean", { exit: 1 as never }, {}, "LAMEDUCK_BAD_OPTION", "exit"],
  [
    "handlers neither held nor left",
    { otherHandlers: "kill" as never },
    {},
    "LAMEDUCK_BAD_OPTION",
    "otherHandlers",
  ],
  ["a spread without a unit", {}, { LAMEDUCK_SPREAD: "20" }, "LAMEDUCK_BAD_DURATION", "LAMEDUCK_SPREAD"],
  [
    "a spread that leaves no time to hold",
    {},
    { ...pod, LAMEDUCK_SPREAD: "25s" },
    "LAMEDUCK_NO_TIME_TO_HOLD",
    "LAMEDUCK_SPREAD",
  ],
  [
    "a cap in code that leaves no time for the spread",
    { cap: "20s" },
    { ...pod, LAMEDUCK_SPREAD: "15s" },
    "LAMEDUCK_CAP_ABOVE_GRACE",
    "cap",
  ],
  ["options that are no object", 5 as never, {}, "LAMEDUCK_BAD_OPTION", "options"],
];

for (const [title, options, environment, code, place] of mistakes)
  test(`${title} is a coded error that names its place`, () => {
    const parse = (): unknown =>
      typeof options === "object" ? settings(options, environment) : parseSettings(options);
    assert.throws(parse, (error) => {
      assert.ok(error instanceof DrainError || error instanceof LameduckError);
      assert.deepEqual([error.code, error.place], [code, place]);
      assert.ok(error.remedy.length > 10);
      return true;
    });
  });

for (const { variable: name, name: option } of libraryVariables)
  if (rows[option].decides && rows[option].kind === "duration")
    test(`${name} without a unit is an error that names both spellings`, () => {
      for (const policy of ["fixed", "until-deadline", "quiet", "adaptive"])
        assert.throws(() => settings({}, { LAMEDUCK_POLICY: policy, LAMEDUCK_DELAY: "1s", [name]: "20" }), {
          code: "LAMEDUCK_BAD_DURATION",
          message: `${name}: "20" has no unit: write "20s" for 20 seconds or "20ms" for 20 milliseconds`,
        });
    });

test("a text without a unit is an error in code, too; a number there is milliseconds", () => {
  const problem = '"20" has no unit: write "20s" for 20 seconds or "20ms" for 20 milliseconds';
  const wrong = (option: string): object => ({
    code: "LAMEDUCK_BAD_DURATION",
    message: `${option}: ${problem}`,
  });
  assert.throws(() => settings({ floor: "20" }), wrong("floor"));
  assert.throws(() => settings({ ramp: "20" }), wrong("ramp"));
  assert.throws(() => settings({ lbHealth: { path: "/", wait: "20" } }), wrong("lbHealth.wait"));
  assert.equal(settings({ floor: 20 }, pod).drain.floor, 20);
});

test("a delay or a window above the cap is a warning, because the cap cuts it", () => {
  const warnings = (options: LameduckOptions): readonly string[] => settings(options, pod).warnings;
  assert.deepEqual(warnings({ policy: "fixed", delay: "25s" }), []);
  assert.deepEqual(warnings({ policy: "fixed", delay: "40s" }), [
    "delay: 40s is above the cap, which ends the hold after 25s; raise the grace period or lower the delay",
  ]);
  assert.match(warnings({ policy: "quiet", window: "20s", cap: "10s" }).join(), /^window: 20s is above/);
});

test("a setting that belongs to a policy other than the chosen policy is a warning", () => {
  const warnings = (said: Record<string, string>): readonly string[] =>
    settings({}, { ...pod, ...said }).warnings;
  assert.deepEqual(warnings({ LAMEDUCK_DELAY: "15s" }), [
    "LAMEDUCK_DELAY does nothing: it is of the policy fixed, and the policy is adaptive",
  ]);
  assert.deepEqual(warnings({ LAMEDUCK_WINDOW: "5s", LAMEDUCK_POLICY: "until-deadline" }), [
    "LAMEDUCK_WINDOW does nothing: it is of the policy quiet, and the policy is until-deadline",
  ]);
  assert.deepEqual(settings({ lossBudget: 0.1, policy: "quiet" }, pod).warnings, [
    "lossBudget does nothing: it is of the policy adaptive, and the policy is quiet",
  ]);
  assert.deepEqual(warnings({ LAMEDUCK_DELAY: "15s", LAMEDUCK_POLICY: "fixed" }), []);
});

test("in Kubernetes a grace period that nobody said is a warning that names what to add to the manifest", () => {
  const { KUBERNETES_SERVICE_HOST } = pod;
  const [warning = "", ...others] = settings({}, { KUBERNETES_SERVICE_HOST }).warnings;
  assert.deepEqual(others, []);
  for (const line of [
    '- { name: LAMEDUCK_GRACE_PERIOD, value: "30s" }',
    '- { name: LAMEDUCK_PRESTOP, value: "0s" }',
  ])
    assert.ok(warning.includes(line), warning);
  assert.deepEqual(settings({ grace: "30s" }, { KUBERNETES_SERVICE_HOST }).warnings, []);
  assert.deepEqual(settings({}, pod).warnings, []);
  assert.deepEqual(settings({}).warnings, [], "outside nobody kills");
});
