import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { ask } from "./ask.ts";
import { fixture, inPod, startScript, type Child } from "./child.ts";

function start(handler: string, env: Record<string, string> = {}): Promise<Child> {
  return startScript([fixture("handlers.ts")], { HANDLER: handler, ...env });
}

/** What the process says of the handlers of the application. */
function told(child: Child): string[] {
  return child.events.flatMap((event) =>
    event.lameduck === "notice" && event.notice === "handlers" ? [event.message] : [],
  );
}

const signals = ["SIGTERM", "SIGINT"] as const;

describe("handlers of the application", { concurrency: 3 }, () => {
  for (const signal of signals) {
    test(`${signal}: a handler that has done its work and does not exit is not waited for`, async () => {
      await using child = await start("returns");
      child.kill(signal);
      assert.equal((await child.exited).code, 0);
      assert.match(child.stdout, /own handler in closing\nflushed/);
      assert.equal(child.event("closed")?.reason, "done");
      assert.ok(child.event("closed")!.elapsed < 15_000, `${child.event("closed")!.elapsed} of 30 s`);
    });

    test(`${signal}: an asynchronous clean-up is finished, and told in the log`, async () => {
      await using child = await start("async, exits never");
      child.kill(signal);
      assert.equal((await child.exited).code, 0);
      assert.match(child.stdout, /cleaned up/);
      assert.ok(child.event("closed")!.elapsed < 15_000, `${child.event("closed")!.elapsed} of 30 s`);
      assert.match(told(child)[0] ?? "", new RegExp(`${signal} handlers .*shutDown\\(\\)`));
    });

    for (const [handler, code] of [
      ["async, exits", 5],
      ["not awaited", 6],
      ["after the close", 7],
    ] as const)
      test(`${signal}: a clean-up that is ${handler} ends the process itself`, async () => {
        await using child = await start(handler);
        child.kill(signal);
        assert.equal((await child.exited).code, code);
        assert.match(child.stdout, /cleaned up/);
        assert.equal(child.event("closed")?.exitCode, code);
      });
  }

  test("a handler whose loser of a race stays pending for ever is not waited for", async () => {
    await using child = await start("race with a loser");
    child.kill();
    assert.equal((await child.exited).code, 0);
    assert.match(child.stdout, /flushed/);
    assert.ok(child.event("closed")!.elapsed < 15_000, `${child.event("closed")!.elapsed} of 30 s`);
  });

  test("a last word that a handler sends to a slow collector, unawaited, over a connection of before, is waited for", async (t) => {
    let isSlow = false;
    const collector = createServer(
      (_request, response) => void setTimeout(() => response.end(), isSlow ? 2_500 : 0),
    );
    // Its connections stay: the last word is sent over one of before.
    collector.keepAliveTimeout = 120_000;
    collector.listen(0, "127.0.0.1");
    await once(collector, "listening");
    t.after(() => {
      collector.close();
      collector.closeAllConnections();
    });
    const COLLECTOR = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/`;
    await using child = await start("delivers", { COLLECTOR });
    await child.until(() => child.stdout.includes("connected"));
    isSlow = true;
    child.kill();
    assert.equal((await child.exited).code, 0);
    assert.match(child.stdout, /delivered/);
  });

  for (const handler of ["throws", "rejects"])
    test(`a handler that ${handler} costs neither the requests in flight nor the end`, async () => {
      await using child = await start(handler);
      child.kill();
      assert.equal((await child.exited).code, 1);
      const notices = child.events.flatMap((event) => (event.lameduck === "notice" ? [event.notice] : []));
      assert.deepEqual(notices, ["crash"]);
      assert.equal(child.event("closed")?.reason, "done");
    });

  test("a handler that never ends is waited for until just before the deadline, and named", async () => {
    await using child = await start("never ends", { LAMEDUCK_GRACE_PERIOD: "4s", LAMEDUCK_FLOOR: "0s" });
    child.kill();
    assert.equal((await child.exited).code, 0);
    const { elapsed } = child.event("closed")!;
    assert.ok(elapsed > 3_000 && elapsed < 4_000, `${elapsed} of 4 s`);
    assert.match(told(child).at(-1) ?? "", /shutDown\(\)/);
  });

  test("in a pod SIGINT is a termination like SIGTERM: held, then passed on", async () => {
    await using child = await start("async, exits never", { ...inPod, LAMEDUCK_FLOOR: "500ms" });
    child.kill("SIGINT");
    await child.until("lame-duck");
    assert.equal((await ask(child.port)).status, 200);
    assert.doesNotMatch(child.stdout, /own handler/);
    child.kill("SIGINT");
    assert.equal((await child.exited).code, 0);
    const [first] = child.events.filter((event) => event.lameduck === "phase");
    assert.ok(first?.phase === "lame-duck");
    assert.equal(first.reason, "SIGINT");
    assert.ok(child.event("closing")!.hold >= 490);
    assert.match(child.stdout, /own handler in closing\ncleaned up/);
    assert.match(child.stderr, /SIGINT again/);
  });

  test("which signals mean a termination is a list", async () => {
    const pod = { ...inPod, LAMEDUCK_FLOOR: "500ms" };
    await using interrupted = await start("returns", { ...pod, LAMEDUCK_SIGNALS: "SIGTERM" });
    interrupted.kill("SIGINT");
    assert.equal((await interrupted.exited).code, 0);
    assert.equal(interrupted.event("closing")?.reason, "forced");
    assert.match(interrupted.stdout, /flushed/);
    await using quitting = await start("returns", { ...pod, LAMEDUCK_SIGNALS: "SIGQUIT, SIGTERM" });
    quitting.kill("SIGQUIT");
    await quitting.until("lame-duck");
    assert.equal((await ask(quitting.port)).status, 200);
    assert.equal((await quitting.exited).code, 0);
    assert.ok(quitting.event("closing")!.hold >= 490);
  });
});
