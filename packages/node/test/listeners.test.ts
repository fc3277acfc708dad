import assert from "node:assert/strict";
import { test } from "node:test";
import { fixture, startScript } from "./child.ts";

test("phases, hooks and events say the same, and listeners of the end are waited for, whatever became of the others", async () => {
  await using child = await startScript([fixture("listeners.ts")]);
  child.kill();
  assert.equal((await child.exited).code, 0);
  assert.deepEqual(child.stdout.trim().split("\n").slice(1), [
    "hook of lame-duck in lame-duck",
    "held for true",
    "hook of closing in closing",
    "hook of closed in closed",
    "told of 0",
  ]);
  const notices = child.events.flatMap((event) => (event.lameduck === "notice" ? [event.message] : []));
  assert.deepEqual(notices, ["no error", "rejected as asked"]);
});

test("a listener of the end that never settles, and an error meanwhile, do not keep the process from its end", async () => {
  await using child = await startScript([fixture("listeners.ts")], {
    HANGS: "yes",
    LAMEDUCK_GRACE_PERIOD: "4s",
  });
  child.kill();
  const { code } = await child.exited;
  assert.equal(code, 0, child.stderr);
  assert.match(child.stdout, /told of 0/);
  assert.match(child.stderr, /uncaughtException: Error: as asked/);
});
