/** Every option and variable with values that a person may write by mistake: one coded error with the place, or one line and exit code 2. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { test } from "node:test";
import { inspect } from "node:util";
import { libraryNames, libraryVariables, rows, type LibraryName } from "@lameduck/options";
import { lameduck, LameduckError, type LameduckOptions } from "../src/index.ts";
import { documentedOptions } from "../src/options/option-names.ts";
import { ask } from "./ask.ts";
import { fixture, inPod, startScript, startServer } from "./child.ts";

const durations = [
  "20",
  "1.5",
  "-5s",
  "",
  "5 parsecs",
  "5s5s",
  "9000h",
  -1,
  NaN,
  Infinity,
  {},
  true,
  null,
  1n,
  Object.create(null),
];
const numbers = ["", "5", "many", -1, NaN, 0, {}, null, 1n];
const switches = ["", "true", 0, 1, null, 1n];

/** Those of a form of their own. */
const own: Partial<Record<LibraryName, readonly unknown[]>> = {
  // What has been stored, whatever it is, is no mistake of whoever reads it.
  learnt: ["", 5, true],
  probes: [
    "",
    "/healthz",
    null,
    5,
    [],
    { path: "/" },
    { paths: ["/healthz?verbose"] },
    { paths: "/" },
    { paths: ["healthz"] },
    { match: "/" },
    { userAgents: "x" },
  ],
  streams: [
    "",
    "/events",
    null,
    5,
    [],
    { paths: ["/a?b"] },
    { path: "/" },
    { paths: ["events"] },
    { match: "/" },
  ],
  lbHealth: [
    "",
    "/healthz",
    null,
    5,
    [],
    { path: "/h?a", wait: "5s" },
    { status: {}, wait: "5s" },
    { path: "h", wait: "5s" },
    { path: "/h", wait: "5" },
    { path: "/h" },
  ],
  log: ["", "json", true, 5, {}, null, { info: () => {}, warn: true }],
  signals: [...switches, [], ["SIGKILL"], ["SIGTREM"], [15], "SIGTERM"],
  coordinator: ["here", "https://example", "http://a/b", true, 5, null, {}],
  environment: ["", 5, [], null],
};

function wrongFor(name: LibraryName): readonly unknown[] {
  const { kind, aboveZero } = rows[name];
  switch (kind) {
    case "duration":
      return name === "timeout" ? [...durations, 0, "31s"] : aboveZero ? [...durations, 0] : durations;
    case "number":
      return numbers;
    case "whole number":
      return [...numbers, 1.5];
    case "choice":
      return ["", "hope", "Quiet", true, 5, null, 1n];
    case "switch":
      return switches;
    case "path":
      return ["", "hold.jsonl", 5, null, {}, true];
    default:
      return own[name] ?? assert.fail(`no wrong values for ${name}`);
  }
}

const wrong = Object.fromEntries(libraryNames.map((name) => [name, wrongFor(name)]));

for (const [option, values] of Object.entries(wrong))
  for (const value of values)
    test(`${option}: ${inspect(value)} is a coded error with its place`, () => {
      const options = {
        policy: "adaptive",
        environment: {},
        delay: "1s",
        [option]: value,
      } as LameduckOptions;
      assert.throws(
        () => lameduck(createServer(), options).detach(),
        (error) => {
          assert.ok(error instanceof LameduckError, String(error));
          assert.match(error.place, new RegExp(`^${option}(\\.|$)`));
          assert.match(error.message, new RegExp(`^${option}[.\\w]*: [^\\n]+$`));
          assert.ok(error.remedy.length > 10);
          return true;
        },
      );
    });

test("the known options are those of the page, and a misspelt option is answered with the nearest name", () => {
  const page = readFileSync(new URL("../../../docs/reference/library.md", import.meta.url), "utf8");
  const [, table = ""] = /^\| option .*\n\|[- |]+\n((?:\|.*\n)+)/m.exec(page) ?? [];
  const listed = [...table.matchAll(/^\| (`[^|]*`) +\|/gm)].flatMap(([, names = ""]) =>
    [...names.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name),
  );
  assert.deepEqual(listed.toSorted(), documentedOptions.toSorted());
  const problem = (options: object): string => {
    try {
      lameduck(createServer(), { environment: {}, ...options }).detach();
    } catch (error) {
      return (error as Error).message;
    }
    return "";
  };
  const known = `known are ${documentedOptions.join(", ")}`;
  assert.equal(problem({ Floor: 1 }), `Floor: no such option (did you mean floor?); ${known}`);
  assert.equal(problem({ lbhealth: 1 }), `lbhealth: no such option (did you mean lbHealth?); ${known}`);
  assert.equal(problem({ drainTime: 1 }), `drainTime: no such option; ${known}`);
  assert.equal(
    problem({ probes: { path: [] } }),
    "probes.path: no such option (did you mean paths?); known are paths, userAgents, match",
  );
});

test("a misspelt option is an error that names the known ones", () => {
  for (const option of Object.keys(wrong))
    assert.throws(() => lameduck(createServer(), { environment: {}, [`${option}x`]: 1 }), {
      code: "LAMEDUCK_UNKNOWN_OPTION",
      place: `${option}x`,
    });
});

/** What a person may write into a manifest. Each mistake, and the beginning of what is said. */
const written: Record<string, readonly string[]> = {
  LAMEDUCK_POLICY: ["hope", "20", "-1"],
  LAMEDUCK_LOSS_BUDGET: ["few", "-1", "0.5s", "0", "0x1", "1e999"],
  LAMEDUCK_MAX_SENDERS: ["many", "-20", "0.5", "5000"],
  LAMEDUCK_SIGNALS: ["20", "TERM", "SIGTERM,SIGSTOP"],
};

/** A recording is for diagnosis: see the last test. */
const variables = libraryVariables.flatMap(({ variable, injected }) => (injected ? [] : [variable]));
const fatal = variables.filter((name) => name !== "LAMEDUCK_TRACE");

for (const name of fatal)
  for (const value of written[name] ?? ["20", "-5s", "5 parsecs"])
    test(`${name}=${value} is an error of lameduck() that names the variable`, () => {
      assert.throws(
        () => lameduck(createServer(), { environment: { LAMEDUCK_DELAY: "1s", [name]: value } }).detach(),
        (error) => {
          assert.ok(error instanceof LameduckError);
          assert.equal(error.place, name);
          assert.match(error.message, new RegExp(`^${name}: [^\\n]*${value.split(",").at(-1)}`));
          return true;
        },
      );
    });

test("without code each mistake in a variable is one line with place and remedy, and exit code 2", async () => {
  const register = new URL("../src/register.ts", import.meta.url).href;
  await Promise.all(
    fatal.map(async (name) => {
      const value = written[name]?.[0] ?? "20";
      const child = await startScript(["--import", register, fixture("plain.cjs")], { [name]: value });
      assert.equal((await child.exited).code, 2);
      assert.match(
        child.stderr,
        new RegExp(`^lameduck: LAMEDUCK_[A-Z_]+: ${name}: [^\\n]*"${value}"[^\\n]*; [^\\n]{10,}\\n$`),
      );
    }),
  );
});

test("an empty variable is an unset one", () => {
  const environment = Object.fromEntries(variables.map((name) => [name, " "]));
  lameduck(createServer(), { environment }).detach();
});

test("LAMEDUCK_TRACE without an absolute path is one line, and the server serves", async () => {
  await using child = await startServer({}, { ...inPod, LAMEDUCK_TRACE: "hold.jsonl" });
  assert.equal((await ask(child.port)).status, 200);
  const told = child.stderr.split("\n").filter((line) => line.includes("LAMEDUCK_TRACE"));
  assert.equal(told.length, 1, child.stderr);
  assert.match(told[0]!, /hold\.jsonl.* is not an absolute path; no hold is recorded/);
  assert.doesNotMatch(child.stderr, /\n\s+at /);
});
