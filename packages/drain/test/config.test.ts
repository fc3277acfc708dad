import assert from "node:assert/strict";
import { test } from "node:test";
import {
  DrainError,
  drainErrors,
  type DrainOptions,
  formatDuration,
  longestHold,
  parseConfig,
  parseDuration,
} from "../src/index.ts";

const mistakes: [title: string, options: unknown, code: string, option: string][] = [
  ["floor above cap", { floor: "9s", cap: "5s" }, "LAMEDUCK_FLOOR_ABOVE_CAP", "floor"],
  ["floor above what grace leaves", { floor: "20s", grace: "20s" }, "LAMEDUCK_FLOOR_ABOVE_CAP", "floor"],
  ["cap above grace - reserve", { cap: "28s" }, "LAMEDUCK_CAP_ABOVE_GRACE", "cap"],
  ["cap of zero", { cap: 0 }, "LAMEDUCK_NO_TIME_TO_HOLD", "cap"],
  ["reserve as long as grace", { grace: "5s", reserve: "5s" }, "LAMEDUCK_NO_TIME_TO_HOLD", "reserve"],
  ["preStop as long as grace", { prestop: "30s" }, "LAMEDUCK_NO_TIME_TO_HOLD", "grace"],
  ["negative duration", { floor: -1 }, "LAMEDUCK_BAD_DURATION", "floor"],
  ["duration without a number", { grace: "soon" }, "LAMEDUCK_BAD_DURATION", "grace"],
  ["infinite duration", { grace: Infinity }, "LAMEDUCK_BAD_DURATION", "grace"],
  ["NaN", { reserve: NaN }, "LAMEDUCK_BAD_DURATION", "reserve"],
  ["a year", { grace: "9000h" }, "LAMEDUCK_BAD_DURATION", "grace"],
  ["a window that the policy does not use", { window: "5" }, "LAMEDUCK_BAD_DURATION", "window"],
  ["a delay that the policy does not use", { delay: "soon" }, "LAMEDUCK_BAD_DURATION", "delay"],
  [
    "a loss budget that the policy does not use",
    { policy: "quiet", lossBudget: -1 },
    "LAMEDUCK_BAD_NUMBER",
    "lossBudget",
  ],
  ["unknown policy", { policy: "magic" }, "LAMEDUCK_UNKNOWN_POLICY", "policy"],
  ["unknown option", { flor: "5s" }, "LAMEDUCK_UNKNOWN_OPTION", "flor"],
  ["fixed without delay", { policy: "fixed" }, "LAMEDUCK_MISSING_OPTION", "delay"],
  ["loss budget of zero", { lossBudget: 0 }, "LAMEDUCK_BAD_NUMBER", "lossBudget"],
  ["loss budget that is no number", { lossBudget: "1" }, "LAMEDUCK_BAD_NUMBER", "lossBudget"],
  ["convergence of zero", { convergence: 0 }, "LAMEDUCK_BAD_DURATION", "convergence"],
  ["half a sender", { maxSenders: 0.5 }, "LAMEDUCK_BAD_NUMBER", "maxSenders"],
];

for (const [title, options, code, option] of mistakes)
  test(`options with ${title} are refused with ${code}`, () => {
    assert.throws(
      () => parseConfig(options as DrainOptions),
      (error: unknown) => {
        assert.ok(error instanceof DrainError);
        assert.equal(error.code, code);
        assert.equal(error.place, option);
        assert.equal(error.remedy, drainErrors[error.code]);
        assert.match(error.message, new RegExp(`^${option}: `));
        return true;
      },
    );
  });

test("every code of the catalogue is provoked by a test", () => {
  const provoked = new Set(mistakes.map(([, , code]) => code));
  const ofConfig = Object.keys(drainErrors).filter((code) => !code.startsWith("LAMEDUCK_TRACE_"));
  assert.deepEqual([...provoked].sort(), ofConfig.sort());
});

test("the default options are the policy adaptive, a floor of 1 s and a cap of 25 s of Kubernetes' 30 s", () => {
  assert.deepEqual(parseConfig(), {
    policy: { kind: "adaptive", lossBudget: 0.001, convergence: 4_000 },
    floor: 1_000,
    cap: 25_000,
    prestop: 0,
    requestQuiet: 1_000,
    settle: 500,
    maxSenders: 128,
  });
});

test("the default floor and reserve become smaller where the grace period is short", () => {
  const config = parseConfig({ grace: "2s" });
  assert.ok(config.floor <= config.cap && config.cap > 0 && config.cap < 2_000);
});

test("time spent in preStop hooks counts towards the floor and is taken off the cap", () => {
  const config = parseConfig({ floor: "5s", prestop: "4s" });
  assert.equal(config.floor, 1_000);
  assert.equal(config.cap, 21_000);
});

test("a text that holds a number without a unit is refused, and the error names both spellings", () => {
  for (const [text, problem] of [
    ["20", '"20" has no unit: write "20s" for 20 seconds or "20ms" for 20 milliseconds'],
    [" 1.5 ", '"1.5" has no unit: write "1.5s" for 1.5 seconds or "1.5ms" for 1.5 milliseconds'],
    ["-20", '"-20" is negative'],
    ["-20s", '"-20s" is negative'],
    ["", '"" is not a duration'],
    ["20sec", '"20sec" is not a duration'],
    ["1s500ms", '"1s500ms" is not a duration'],
    [
      "9999999",
      '"9999999" has no unit: write "9999999s" for 9999999 seconds or "9999999ms" for 9999999 milliseconds',
    ],
  ] as const)
    assert.throws(() => parseDuration(text, "--grace"), {
      code: "LAMEDUCK_BAD_DURATION",
      message: `--grace: ${problem}`,
    });
  assert.equal(parseDuration(20, "grace"), 20, "numbers in code are milliseconds");
});

test("a duration is read as it was written", () => {
  for (const [text, value] of [
    ["300ms", 300],
    ["5s", 5_000],
    ["1.5s", 1_500],
    ["2m", 120_000],
    ["1h", 3_600_000],
    ["0", 0],
    ["0.0", 0],
    [" 7s ", 7_000],
  ] as const)
    assert.equal(parseDuration(text, "test"), value);
  assert.equal(formatDuration(300), "300ms");
  assert.equal(formatDuration(1_500), "1.5s");
  assert.equal(formatDuration(90_000), "90s");
  assert.equal(formatDuration(0), "0s");
});

test("a fixed delay below the floor holds until the floor, and no policy holds beyond the cap", () => {
  for (const [options, longest] of [
    [{ policy: "fixed", delay: "1s", floor: "3s" }, 3_000],
    [{ policy: "fixed", delay: "5s", floor: "3s" }, 5_000],
    [{ policy: "fixed", delay: "50s", cap: "20s" }, 20_000],
    [{ cap: "20s" }, 20_000],
  ] as const)
    assert.equal(longestHold(parseConfig(options)), longest);
});
