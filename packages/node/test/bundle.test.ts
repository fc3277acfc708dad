import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { rolldown } from "rolldown";
import { ask } from "./ask.ts";
import { fixture, inPod, startScript } from "./child.ts";

const env = { ...inPod, LAMEDUCK_FLOOR: "300ms", LAMEDUCK_CONVERGENCE: "100ms" };

test("one file, to be mounted from a ConfigMap, does the same by --import and by --require", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "lameduck-bundle-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "lameduck-register.cjs");
  const input = fileURLToPath(new URL("../src/register.ts", import.meta.url));
  const bundle = await rolldown({ input, platform: "node" });
  await bundle.write({ file, format: "cjs", minify: true });
  assert.ok(statSync(file).size < 200_000, `${statSync(file).size} bytes`);
  for (const way of ["--import", "--require"])
    for (const script of ["plain.cjs", "plain.mjs"]) {
      await using child = await startScript([way, file, fixture(script)], env);
      child.kill();
      await child.until("lame-duck");
      assert.equal((await ask(child.port)).status, 200);
      assert.equal((await child.exited).code, 0);
      assert.equal(child.event("closed")?.reason, "done");
    }
});

test("CommonJS can require the package", async () => {
  await using child = await startScript([fixture("required.cjs")], env);
  child.kill();
  assert.equal((await child.exited).code, 0);
  assert.equal(child.event("closed")?.reason, "done");
  assert.doesNotMatch(child.stderr, /warning/i);
});
