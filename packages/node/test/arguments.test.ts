/** What a person may pass to the functions and methods by mistake: a coded error with place and remedy, never a bare TypeError. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import {
  lameduck,
  lameduckAll,
  LameduckError,
  lameduckPrimary,
  type Lameduck,
  type NoticeEvent,
} from "../src/index.ts";

const quiet = { log: false, exit: false, signals: false, environment: {} } as const;
const run = (): void => {};
/** Whatever it is given. */
const any = (value: unknown): never => value as never;

const wrong: [what: string, call: (duck: Lameduck) => unknown, code: string, message: string | RegExp][] = [
  ["no server", () => lameduck([], quiet), "LAMEDUCK_NOT_A_SERVER", /^server: the list is empty; /],
  [
    "options in a list",
    () => lameduck(createServer(), any([])),
    "LAMEDUCK_BAD_OPTION",
    "options: an empty list is not an object",
  ],
  [
    "options in a list",
    () => lameduckAll(any([])),
    "LAMEDUCK_BAD_OPTION",
    "options: an empty list is not an object",
  ],
  [
    "options in a text",
    () => lameduckPrimary(any("5s")),
    "LAMEDUCK_BAD_OPTION",
    'options: "5s" is not an object',
  ],
  [
    "an unknown event",
    (duck) => duck.on(any("clossing"), run),
    "LAMEDUCK_BAD_OPTION",
    'on: "clossing" is no such event (did you mean closing?); known are phase, lame-duck, closing, closed, notice',
  ],
  [
    "an event that is no text",
    (duck) => duck.on(any(Symbol("x")), run),
    "LAMEDUCK_BAD_OPTION",
    /^on: Symbol\(x\) is no such event; /,
  ],
  [
    "a listener that is none",
    (duck) => duck.on("closed", any(undefined)),
    "LAMEDUCK_BAD_OPTION",
    "on closed: undefined is not a function",
  ],
  [
    "a hook of no phase",
    (duck) => duck.hook(any("close"), "a", run),
    "LAMEDUCK_BAD_HOOK",
    'a: "close" is not lame-duck, closing or closed',
  ],
  [
    "a hook whose name is a number",
    (duck) => duck.hook("closed", any(1), run),
    "LAMEDUCK_BAD_HOOK",
    "hook: 1 is no name",
  ],
  [
    "a hook without a name",
    (duck) => duck.hook("closed", "", run),
    "LAMEDUCK_BAD_HOOK",
    'hook: "" is no name',
  ],
  [
    "a hook without a function",
    (duck) => duck.hook("closed", "a", any("run")),
    "LAMEDUCK_BAD_HOOK",
    'a: "run" is not a function',
  ],
  [
    "a misspelt option of a hook",
    (duck) => duck.hook("closed", "a", run, any({ timout: "1s" })),
    "LAMEDUCK_BAD_OPTION",
    "a.timout: no such option (did you mean timeout?); known are timeout, after",
  ],
  [
    "null for the options of a hook",
    (duck) => duck.hook("closed", "a", run, any(null)),
    "LAMEDUCK_BAD_OPTION",
    "a: null is not an object with timeout, after",
  ],
  [
    "a time for the options of a hook",
    (duck) => duck.hook("closed", "a", run, any(500)),
    "LAMEDUCK_BAD_OPTION",
    "a: 500 is not an object with timeout, after",
  ],
  [
    "a time-out without a unit",
    (duck) => duck.hook("closed", "a", run, { timeout: "5" }),
    "LAMEDUCK_BAD_DURATION",
    /^a\.timeout: "5" has no unit/,
  ],
  [
    "null for a time-out",
    (duck) => duck.hook("closed", "a", run, any({ timeout: null })),
    "LAMEDUCK_BAD_DURATION",
    "a.timeout: null is not a duration",
  ],
  [
    "after a text",
    (duck) => duck.hook("closed", "a", run, any({ after: "n" })),
    "LAMEDUCK_BAD_OPTION",
    'a.after: "n" is not a list of names of hooks',
  ],
  [
    "after numbers",
    (duck) => duck.hook("closed", "a", run, any({ after: [1] })),
    "LAMEDUCK_BAD_OPTION",
    "a.after: a list is not a list of names of hooks",
  ],
  [
    "after itself",
    (duck) => duck.hook("closed", "a", run, { after: ["a"] }),
    "LAMEDUCK_BAD_HOOK",
    "a: waits for itself: a after a",
  ],
  [
    "after each other",
    (duck) => duck.hook("closed", "a", run, { after: ["b"] }).hook("closed", "b", run, { after: ["a"] }),
    "LAMEDUCK_BAD_HOOK",
    "a: waits for itself: a after b after a",
  ],
  [
    "no module for metrics",
    (duck) => duck.metrics(any(undefined)),
    "LAMEDUCK_BAD_OPTION",
    /^metrics: undefined has no Gauge: pass /,
  ],
  [
    "another module for metrics",
    (duck) => duck.metrics(any({})),
    "LAMEDUCK_BAD_OPTION",
    /^metrics: an object of Object has no Gauge: pass /,
  ],
  [
    "a registry outside a list",
    (duck) => duck.metrics(any({ Gauge: Object }), any({})),
    "LAMEDUCK_BAD_OPTION",
    "metrics: an object of Object is not a list of registries",
  ],
  [
    "no server to add",
    (duck) => duck.add(any(null)),
    "LAMEDUCK_NOT_A_SERVER",
    "server: null is no http, https or http2 server",
  ],
];

for (const [what, call, code, message] of wrong)
  test(`${what} is ${code}: ${String(message)}`, () => {
    const duck = lameduck(createServer(), quiet);
    assert.throws(
      () => call(duck),
      (error) => {
        assert.ok(error instanceof LameduckError, String(error));
        assert.equal(error.code, code);
        if (typeof message === "string") assert.equal(error.message, message);
        else assert.match(error.message, message);
        assert.ok(error.remedy.length > 10);
        return true;
      },
    );
    duck.detach();
  });

test("a hook refused is none: its name is free", async () => {
  const duck = lameduck(createServer(), quiet);
  assert.throws(() => duck.hook("closed", "a", run, { after: ["a"] }));
  duck.hook("closed", "a", run);
  const { hooks } = await duck.stop();
  assert.deepEqual(
    hooks.map(({ name, result }) => [name, result]),
    [["a", "done"]],
  );
});

test("a hook after one that does not exist is told by code when its phase begins, and the others keep their order", async () => {
  const notices: NoticeEvent[] = [];
  const duck = lameduck(createServer(), quiet).on("notice", (notice) => notices.push(notice));
  duck.hook("closed", "database", run, { after: ["quue"] });
  duck.hook("closed", "log", run, { after: ["queue"] });
  duck.hook("closed", "queue", run);
  const { hooks } = await duck.stop();
  assert.deepEqual(
    hooks.map(({ name }) => name),
    ["database", "queue", "log"],
  );
  assert.deepEqual(
    notices.map(({ notice }) => notice),
    ["hook"],
  );
  assert.match(
    notices[0]!.message,
    /^LAMEDUCK_BAD_HOOK: database\.after: "quue" is no such hook of closed \(did you mean queue\?\); known are log, queue; .{10,}/,
  );
});

test("a pattern with the flag g tells every probe, not every other one", async () => {
  const { parseProbes } = await import("../src/options/requests.ts");
  const isProbe = parseProbes({ userAgents: [/monitor/g] });
  const ask = (): boolean => isProbe({ url: "/", headers: { "user-agent": "our monitor" } });
  assert.deepEqual([ask(), ask(), ask()], [true, true, true]);
});
