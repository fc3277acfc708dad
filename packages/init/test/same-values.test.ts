/** Each variable that @lameduck/node reads as well: both take the same values, and refuse the same ones in the same words. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createServer } from "node:http";
import { test } from "node:test";
import { lameduck, LameduckError } from "@lameduck/node";
import { initFlags, libraryVariables, rows, type Kind } from "@lameduck/options";
import { initProgram, withoutCompiler } from "./compiled.ts";

const values: Partial<Record<Kind, readonly string[]>> = {
  duration:
    "2s|20|-20s|20sec|5s5s|9000h|1e3s|5 s|.5s|5.s|0|0.0|0s|inf|0x5s| 2s |2s\n|\t2s|+5s|1.5s|1.5|s|soon|,| ".split(
      "|",
    ),
  number: "0.01|few|-1|0x1|0|1e-3|1E-3|1e999|.5|5.|1.e1|1e|+1| 0.5 |1_000|NaN|Infinity|0.5s|1,5".split("|"),
  "whole number": "64|many|0|0.5|5000|6e1|-1|64.0|1e999| 64 ".split("|"),
  choice: "hope|Quiet|quiet|quiet\n|until-deadline|fixed|safe|consistency|availability |1".split("|"),
};

/** The error in one line; undefined where the value is taken. */
function ofLibrary(environment: Record<string, string>): string | undefined {
  try {
    lameduck(createServer(), { environment }).detach();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof LameduckError, String(error));
    return `${error.code}: ${error.message}; ${error.remedy}`;
  }
}

function ofInit(environment: Record<string, string>): string | undefined {
  const env = { PATH: process.env["PATH"], ASAN_OPTIONS: process.env["ASAN_OPTIONS"], ...environment };
  const { status, stderr } = spawnSync(initProgram(), ["--", "true"], { env, encoding: "utf8" });
  if (status === 0) return undefined;
  assert.equal(status, 2, stderr);
  return stderr
    .replace(/^lameduck-init: error: /, "")
    .replace(/ \(lameduck-init --help lists all options\)\n$/, "");
}

/** Without what each calls it: the code of a choice and its remedy are of each catalogue. */
const problemIn = (line: string | undefined): string | undefined => line?.replace(/^\w+: |; .*$/g, "");

const flags = new Map(initFlags.map(({ variable, flag }) => [variable, flag]));
const shared = libraryVariables.filter(
  ({ variable, injected, name }) => flags.has(variable) && !injected && rows[name].kind !== "path",
);

for (const { variable, name } of shared)
  test(`${variable} is read alike by the init and by the library`, { skip: withoutCompiler }, () => {
    const { kind, decides } = rows[name];
    const known = values[kind];
    assert.ok(known, `no values for ${kind}`);
    for (const value of known) {
      // The policy fixed needs a delay.
      const environment = { LAMEDUCK_DELAY: "1s", [variable]: value };
      const [library, init] = [ofLibrary({ ...environment }), ofInit(environment)];
      const about = `${variable}=${JSON.stringify(value)}`;
      if (decides) assert.equal(init, library, about);
      else assert.equal(problemIn(init), problemIn(library), about);
    }
  });
