/**
 * Every flag and every variable, given what people give by mistake: a bare number, a negative, nothing, a unit too much, a misspelt name. The
 * table of options is the list, so that a new flag cannot be forgotten here.
 */
import assert from "node:assert/strict";
import { afterEach, before, describe, test } from "node:test";
import { initFlags, rows, type InitFlag } from "@lameduck/options";
import { initProgram, withoutCompiler } from "./compiled.ts";
import { endAll, run, type Ended } from "./running.ts";

afterEach(endAll);

/** What is right for them although it looks like a mistake elsewhere: "20" is a port, a signal and the name of a file. */
const paths = new Set(["ready-file", "done-file", "wait-for", "wait-gone", "ignore-socket"]);
/** Any word is a name to them. */
const names = new Set(["pod-name", "pod-namespace", "pod-uid"]);
const numbers = new Set(["port", "ignore-port", "expect", "max-senders", "loss-budget", "parent-death"]);
const signals = new Set(["signal", "stop-signal", "parent-death", "rewrite", "then"]);

async function init(words: readonly string[], environment: Record<string, string> = {}): Promise<Ended> {
  const env = { PATH: process.env["PATH"], ASAN_OPTIONS: process.env["ASAN_OPTIONS"], ...environment };
  return run(initProgram(), [...words, "--", "true"], { env });
}

function assertRefused({ code, stdout, stderr }: Ended, place: string, says = /./): void {
  assert.equal(code, 2, `${place}: ${stderr}`);
  assert.equal(stdout, "");
  assert.equal(stderr.trim().split("\n").length, 1, `one line: ${stderr}`);
  assert.match(stderr, /^lameduck-init: error: LAMEDUCK_[A-Z_]+: /);
  assert.ok(stderr.includes(`: ${place}: `), `${place} in ${stderr}`);
  assert.match(stderr, /; .+ \(lameduck-init --help lists all options\)$/m);
  assert.match(stderr, says);
}

/** Both ways to say it. An empty variable counts as unset, as manifests often leave it so. */
async function assertBothRefused(
  { name, flag, variable = "" }: InitFlag,
  value: string,
  says?: RegExp,
): Promise<void> {
  // Two names of one option.
  const place = name === "grace" ? "--grace" : `--${flag}`;
  assertRefused(await init([`--${flag}`, value]), place, says);
  if (value !== "") assertRefused(await init([], { [variable]: value }), variable, says);
}

describe("every flag and variable", { skip: withoutCompiler }, () => {
  before(() => void initProgram());

  for (const flag of initFlags) {
    const { flag: name, variable = "", form } = flag;
    const takesValue = form === "text" || form === "list";

    test(`a bad value of --${name} or its variable is refused, as the table of options says`, async () => {
      if (takesValue) {
        if (rows[flag.name].kind === "duration") {
          const words = /"20" has no unit: write "20s" for 20 seconds or "20ms" for 20 milliseconds;/;
          await assertBothRefused(flag, "20", words);
          await assertBothRefused(flag, "-20s", /"-20s" is negative;/);
          await assertBothRefused(flag, "20sec", /"20sec" is not a duration;/);
        } else if (name === "coordinator") {
          // A variable of that name may be another program's: arguments.test.ts.
          for (const value of ["20", "-20", "20sec"])
            assertRefused(await init([`--${name}`, value]), `--${name}`);
        } else if (name === "trace") {
          assertRefused(await init(["--trace", "20"]), "--trace", /"20" is not an absolute path/);
          // A recording is for diagnosis: the variable keeps no pod from starting, as with the library.
          const { code, stderr } = await init([], { [variable]: "20" });
          assert.equal(code, 0, stderr);
          assert.equal(
            stderr,
            'lameduck-init: warning: LAMEDUCK_TRACE: "20" is not an absolute path; no hold is recorded\n',
          );
        } else if (!paths.has(name) && !names.has(name)) {
          if (!numbers.has(name) && !signals.has(name)) await assertBothRefused(flag, "20");
          await assertBothRefused(flag, "-20");
          await assertBothRefused(flag, "20sec");
        }
        await assertBothRefused(flag, "");
        assertRefused(await run(initProgram(), [`--${name}`]), `--${name}`, /needs a value/);
      } else {
        assertRefused(await init([`--${name}=20`]), `--${name}=20`, /takes no value/);
        for (const value of ["-20", "20sec"])
          if (variable !== "") assertRefused(await init([], { [variable]: value }), variable);
      }
      const misspelt = `--${name}x`;
      assertRefused(await init([misspelt, "1"]), misspelt, /did you mean --[a-z-]+\?/);
      if (variable === "") return;
      const warned = await init([], { [`${variable}X`]: "1" });
      assert.equal(warned.code, 0);
      const [line = "", ...more] = warned.stderr.trim().split("\n");
      assert.match(
        line,
        /^lameduck-init: warning: LAMEDUCK_[A-Z_]+ is unknown; did you mean LAMEDUCK_[A-Z_]+\?$/,
      );
      assert.ok(line.includes(`${variable}X is unknown`), line);
      assert.deepEqual(more, []);
    });
  }
});
