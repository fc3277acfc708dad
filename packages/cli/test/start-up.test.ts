import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import test from "node:test";

const command = join(import.meta.dirname, "..", "bin", "lameduck.js");
const loaded = `data:text/javascript,import { registerHooks } from "node:module";
registerHooks({ load(url, context, next) { process.stderr.write("loaded " + url + "\\n"); return next(url, context); } });`;

// Loading them takes longer than the audit of a file: 95 modules of zod, and the lab's hundreds.
test("the audit of a file loads neither schemas nor the other commands", () => {
  const manifest = `apiVersion: apps/v1
kind: Deployment
metadata: { name: a }
spec: { template: { spec: { containers: [{ name: a, image: a }] } } }
`;
  const args = ["--import", loaded.replaceAll("\n", ""), command, "audit", "-"];
  const { stderr, status } = spawnSync(process.execPath, args, { input: manifest, encoding: "utf8" });
  assert.equal(status, 0, stderr);
  const urls = stderr.split("\n").filter((line) => line.startsWith("loaded "));
  assert.ok(urls.some((url) => url.includes("packages/audit")));
  for (const never of [
    "node_modules/zod",
    "packages/stage",
    "packages/rollout",
    "packages/load/",
    "packages/simulator",
  ])
    assert.deepEqual(
      urls.filter((url) => url.includes(never)),
      [],
      never,
    );
});
