/** A test of one's own shutdown ends a Lameduck in the test runner's process, which goes on. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { cleanEnvironment, fixture, startScript } from "./child.ts";

const folder = mkdtempSync(join(tmpdir(), "lameduck-tested-"));
after(() => rmSync(folder, { recursive: true }));
const library = new URL("../src/index.ts", import.meta.url).href;

function tested(end: string): { status: number | null; output: string } {
  const file = join(folder, "own.test.mjs");
  writeFileSync(
    file,
    `import { once } from "node:events";
    import { createServer } from "node:http";
    import test from "node:test";
    import { lameduck } from "${library}";
    test("first", async () => {
      const server = createServer().listen(0);
      await once(server, "listening");
      const duck = lameduck(server);
      ${end};
      if (server.listening) throw new Error("it listens");
    });
    test("second", () => console.log("second runs"));`,
  );
  const args = ["--test", "--test-reporter=spec", file];
  const { status, stdout } = spawnSync(process.execPath, args, { env: cleanEnvironment(), encoding: "utf8" });
  return { status, output: stdout };
}

test("terminate() in a test ends neither the test nor those that follow", () => {
  const { status, output } = tested("await duck.terminate()");
  assert.equal(status, 0, output);
  assert.match(output, /second runs/);
  assert.match(output, /a test runner runs this process: it goes on/);
});

test("a test that sends SIGTERM to its own process fails", () => {
  const { status, output } = tested("process.kill(process.pid, 'SIGTERM'); await duck.closed");
  assert.equal(status, 1, output);
});

test("a server that a test starts ends as ever, though it inherits the runner's variables", async () => {
  const env = { NODE_TEST_CONTEXT: "child-v8", JEST_WORKER_ID: "1", VITEST: "true" };
  await using child = await startScript([fixture("server.ts")], env);
  child.kill();
  assert.equal((await child.exited).code, 0);
});
