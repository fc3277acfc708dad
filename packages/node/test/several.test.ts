import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { test } from "node:test";
import { lameduckAll } from "../src/index.ts";
import { ask } from "./ask.ts";
import { fixture, inPod, startScript, startServer, until } from "./child.ts";

for (const way of ["both at once", "one after the other", "one by the signal, the other never"])
  test(`two under a lameduck() of their own, ended ${way}: the process ends after the last request`, async () => {
    await using child = await startScript([fixture("several.ts")], { WAY: way });
    const [, second = 0] = child.ports;
    const slow = ask(second, "/?wait=2000");
    // Its answer says that the server has met the slow one before it.
    assert.equal((await ask(second)).status, 200);
    child.kill();
    assert.equal((await slow).status, 200);
    assert.equal((await child.exited).code, 0);
    const cuts = child.events.flatMap((event) =>
      event.lameduck === "phase" && event.phase === "closed" ? [event.cut.requests] : [],
    );
    assert.deepEqual(cuts, [0, 0]);
  });

for (const way of [
  "the first exits, the second does not",
  "the second exits, the first does not",
  "the second comes after the signal",
])
  test(`${way}: the process ends, whichever is last`, async () => {
    await using child = await startScript([fixture("several.ts")], { WAY: way });
    child.kill();
    assert.equal((await child.exited).code, 0, child.stderr);
    assert.equal(child.events.filter((event) => "phase" in event && event.phase === "closed").length, 2);
  });

test("where the process goes on, a handler that does nothing keeps nobody waiting for the end", async () => {
  await using child = await startScript([fixture("several.ts")], {
    WAY: "a handler beside one that does not exit",
  });
  child.kill();
  assert.equal((await child.exited).code, 0, child.stderr);
});

test("an application that exits in the hold is told as that", async () => {
  await using child = await startScript([fixture("several.ts")], { WAY: "an exit of the application" });
  child.kill();
  assert.equal((await child.exited).code, 9, child.stderr);
  const { reason, exitCode } = child.event("closed") ?? {};
  assert.deepEqual([reason, exitCode], ["exit", 9]);
});

for (const way of [
  "hooks of both, an exit of the application",
  "hooks of both, a later exit of the application",
  "the second comes after the signal, an exit of the application",
])
  test(`${way}: the exit code is the application's`, async () => {
    await using child = await startScript([fixture("several.ts")], { WAY: way });
    child.kill();
    assert.equal((await child.exited).code, 3, child.stderr);
  });

test("the library says so in a worker thread, which no signal reaches", async () => {
  await using child = await startScript([fixture("several.ts")], { WAY: "a worker thread" });
  await child.until(() => /worker thread/.test(child.stderr));
  assert.match(child.stderr, /signals reach the main thread alone/);
});

test("the end of a scope closes its server and leaves the process running", async () => {
  await using child = await startScript([fixture("several.ts")], { WAY: "a scope's end" });
  child.kill();
  assert.equal((await child.exited).code, 0, child.stderr);
  assert.match(child.stdout, /still here/);
  assert.equal(child.event("closed")?.exitCode, null);
});

async function listening(): Promise<Server> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

test("servers that were found are let go once they are closed, and found again", async () => {
  const duck = lameduckAll({ log: false, exit: false, environment: {} });
  const before = process.listenerCount("SIGTERM");
  for (let count = 0; count < 50; count++) {
    const server = await listening();
    server.close();
    await once(server, "close");
  }
  await until(
    () => duck.state().servers === 0,
    5_000,
    () => `${duck.state().servers} held`,
  );
  assert.equal(process.listenerCount("SIGTERM"), before, "a process without a server is left alone");
  const again = await listening();
  assert.equal(duck.state().servers, 1);
  again.close();
  await once(again, "close");
  again.listen(0, "127.0.0.1");
  await once(again, "listening");
  assert.equal(duck.state().servers, 1);
  await duck.stop();
  assert.equal(again.listening, false);
});

test("a grace period that nobody said is told once, however many servers there are", async () => {
  const { KUBERNETES_SERVICE_HOST = "" } = inPod;
  await using child = await startServer({ servers: 3, apart: true }, { KUBERNETES_SERVICE_HOST });
  const told = child.events.filter(
    (event) => event.lameduck === "notice" && event.message.includes("LAMEDUCK_GRACE_PERIOD"),
  );
  assert.equal(told.length, 1);
});
