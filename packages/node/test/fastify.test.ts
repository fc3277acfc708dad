import assert from "node:assert/strict";
import { test } from "node:test";
import fastify from "fastify";
import { lameduckPlugin } from "../src/fastify.ts";
import { ask } from "./ask.ts";
import { fixture, inPod, startScript } from "./child.ts";

test("a Fastify application serves on after SIGTERM, finishes, runs its onClose hooks and exits with 0", async () => {
  await using child = await startScript([fixture("fastify.ts")], inPod);
  assert.equal((await ask(child.port)).body, "serving\n");
  child.kill();
  await child.until("lame-duck");
  const slow = ask(child.port, "/slow");
  assert.equal((await ask(child.port)).body, "lame-duck\n");
  assert.equal(
    (await ask(child.port, "/ready")).status,
    200,
    "endpoints move by the deletion, not by readiness",
  );
  assert.equal((await slow).body, "slow\n");
  assert.equal((await child.exited).code, 0);
  const closed = child.event("closed");
  assert.deepEqual([closed?.reason, closed?.cut], ["done", { requests: 0, connections: 0 }]);
  assert.deepEqual(
    closed?.hooks.map(({ name, result }) => [name, result]),
    [["fastify", "done"]],
  );
  assert.match(child.stdout, /onClose/);
});

test("a Fastify application that its owner closes leaves nothing behind", async () => {
  const before = process.listenerCount("SIGTERM");
  const app = fastify();
  await app.register(lameduckPlugin, { environment: {}, log: false });
  assert.equal(app.lameduck.phase, "serving", "the decoration is the whole application's");
  await app.listen({ port: 0, host: "127.0.0.1" });
  assert.equal(process.listenerCount("SIGTERM"), before + 1);
  await app.close();
  assert.equal(process.listenerCount("SIGTERM"), before);
});

test("a mistake in the options is an error of Fastify's register()", async () => {
  const app = fastify();
  await assert.rejects(async () => app.register(lameduckPlugin, { floor: "20", environment: {} }), {
    code: "LAMEDUCK_BAD_DURATION",
  });
  await app.close();
});
