import assert from "node:assert/strict";
import { copyFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { ask } from "./ask.ts";
import { fixture, inPod, startScript, type Child } from "./child.ts";
import { installPacked } from "./packed.ts";

const env = { ...inPod, LAMEDUCK_FLOOR: "300ms", LAMEDUCK_CONVERGENCE: "100ms" };

const installed = installPacked();
after(() => rmSync(installed, { recursive: true }));

/** A fixture as an application that has the package installed. */
function start(script: string, ...args: string[]): Promise<Child> {
  const copy = join(installed, script);
  copyFileSync(fixture(script), copy);
  return startScript([...args, copy], { ...env, LAMEDUCK_FLOR: "1s" });
}

const phases = (child: Child): string[] =>
  child.events.flatMap((event) => (event.lameduck === "phase" ? [event.phase] : []));

test("one file, to be mounted from a ConfigMap, does the same by --import and by --require", async () => {
  const file = join(installed, "node_modules/@lameduck/node/dist/lameduck-register.cjs");
  assert.ok(statSync(file).size < 200_000, `${statSync(file).size} bytes`);
  for (const way of ["--import", "--require"])
    for (const script of ["plain.cjs", "plain.mjs"]) {
      await using child = await startScript([way, file, fixture(script)], { ...env, LAMEDUCK_FLOOR: "2s" });
      child.kill();
      await child.until("lame-duck");
      assert.equal((await ask(child.port)).status, 200);
      assert.equal((await child.exited).code, 0);
      assert.equal(child.event("closed")?.reason, "done");
    }
});

test("CommonJS can require the package, without a loader's help or warning", async () => {
  await using child = await start("required.cjs", "--no-experimental-require-module");
  child.kill();
  assert.equal((await child.exited).code, 0);
  assert.equal(child.event("closed")?.reason, "done");
  assert.doesNotMatch(child.stderr, /Warning/);
});

test("the entry without code can be required as well", async () => {
  await using child = await start(
    "plain.cjs",
    "--require",
    join(installed, "node_modules/@lameduck/node/dist/cjs/register.js"),
  );
  child.kill();
  assert.equal((await child.exited).code, 0);
  assert.deepEqual(phases(child), ["lame-duck", "closing", "closed"]);
});

test("a server that the entry without code has found, an ES module, is given up to code that requires the package", async () => {
  const register = join(installed, "node_modules/@lameduck/node/dist/register.js");
  await using child = await start("required.cjs", "--import", register);
  child.kill();
  assert.equal((await child.exited).code, 0);
  assert.deepEqual(phases(child), ["lame-duck", "closing", "closed"]);
});

test("imported by one half of an application and required by the other it is one gate for the signal", async () => {
  await using child = await start("two-copies.mjs");
  assert.deepEqual(child.stdout.match(/^LAMEDUCK_.*$/gm), [
    "LAMEDUCK_ATTACHED_TWICE",
    "LAMEDUCK_ATTACHED_TWICE",
  ]);
  child.kill();
  const closings = (): number => phases(child).filter((phase) => phase === "closing").length;
  await child.until(() => closings() === 1);
  assert.doesNotMatch(child.stdout, /own handler/, "the other copy still holds");
  assert.equal((await ask(child.ports[0] ?? 0)).status, 200);
  assert.equal((await child.exited).code, 0);
  assert.equal(phases(child).length, 6);
  assert.equal(child.stdout.match(/own handler/g)?.length, 1, "once");
  assert.equal(
    child.stderr.match(/LAMEDUCK_FLOR is unknown/g)?.length,
    1,
    "two copies tell a misspelt variable once",
  );
});
