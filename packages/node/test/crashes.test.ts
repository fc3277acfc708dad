/** An error that nobody catches while the process serves: `crashes: "close"`. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ask } from "./ask.ts";
import { inPod, startServer } from "./child.ts";
import { RawClient } from "./raw.ts";

const env = { ...inPod, LAMEDUCK_GRACE_PERIOD: "60s", LAMEDUCK_CAP: "50s", LAMEDUCK_CRASHES: "close" };

/** The listener closes a moment after that is announced: whoever gets in until then is served. */
async function refused(port: number): Promise<void> {
  for (;;)
    try {
      await ask(port);
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, "ECONNREFUSED");
      return;
    }
}

describe("uncaught errors", { concurrency: 3 }, () => {
  for (const [path, origin] of [
    ["/crash", "uncaughtException"],
    ["/reject", "unhandledRejection"],
  ] as const)
    test(`${origin}: what is in flight finishes, hooks run, nobody new is served, and the exit code is 1`, async () => {
      await using child = await startServer({ hooks: [["closed", "flush", 1]] }, env);
      const inFlight = ask(child.port, "/?wait=1500");
      await ask(child.port);
      using crashing = new RawClient(child.port).get(path);
      await child.until("closing");
      await refused(child.port);
      crashing.socket.destroy();
      assert.equal((await inFlight).body, "late\n");
      assert.equal((await child.exited).code, 1);
      assert.match(child.stdout, /hook flush/);
      const notices = child.events.flatMap((event) => (event.lameduck === "notice" ? [event] : []));
      assert.deepEqual(
        notices.map(({ notice }) => notice),
        ["crash"],
      );
      assert.match(notices[0]!.message, new RegExp(`^${origin}: Error: as asked\\n +at `));
      assert.equal(child.event("closing")?.reason, "forced");
    });

  test("requests have the reserve, not half of it, where no hook comes after them", async () => {
    await using child = await startServer({}, { ...env, LAMEDUCK_RESERVE: "8s" });
    const inFlight = ask(child.port, "/?wait=5500");
    await ask(child.port);
    using crashing = new RawClient(child.port).get("/crash");
    await child.until("closing");
    crashing.socket.destroy();
    assert.equal((await inFlight).body, "late\n");
    assert.equal((await child.exited).code, 1);
    assert.equal(child.event("closed")?.reason, "done");
  });

  test("what never finishes is cut within the reserve, long before the cap", async () => {
    await using child = await startServer({}, env);
    using hanging = new RawClient(child.port).get("/hang");
    await hanging.until(({ answers }) => answers === 1);
    using crashing = new RawClient(child.port).get("/crash");
    assert.equal((await child.exited).code, 1);
    const closed = child.event("closed");
    assert.equal(closed?.reason, "deadline");
    assert.ok(child.endedBeforeCap, child.stderr);
    crashing.socket.destroy();
  });

  test("a second error meanwhile is told and changes nothing", async () => {
    await using child = await startServer({}, env);
    const inFlight = ask(child.port, "/?wait=1500");
    using busy = new RawClient(child.port).get("/");
    await busy.until(({ answers }) => answers === 1);
    using crashing = new RawClient(child.port).get("/crash").get("/reject");
    await child.until(() => child.events.filter(({ lameduck }) => lameduck === "notice").length === 2);
    crashing.socket.destroy();
    assert.equal((await inFlight).body, "late\n");
    assert.equal((await child.exited).code, 1);
  });

  test("a crash ends all servers of the process, each in order", async () => {
    await using child = await startServer({ servers: 2, apart: true }, { ...env, LAMEDUCK_RESERVE: "2s" });
    using crashing = new RawClient(child.ports[1]!).get("/crash");
    await child.until(() => child.events.filter((event) => event.lameduck === "phase").length >= 4);
    crashing.socket.destroy();
    assert.equal((await child.exited).code, 1);
    assert.equal(
      child.events.filter((event) => event.lameduck === "phase" && event.phase === "closed").length,
      2,
    );
  });

  for (const isSignalled of [false, true])
    test(`with log: false the error is printed all the same, ${isSignalled ? "after" : "before"} the signal`, async () => {
      const crashes = isSignalled ? "leave" : "close";
      await using child = await startServer(
        { options: { log: false } },
        { ...env, LAMEDUCK_CRASHES: crashes, LAMEDUCK_SIGNALS: "SIGTERM" },
      );
      using crashing = new RawClient(child.port);
      if (isSignalled) child.kill();
      crashing.get("/crash");
      await child.until(() => child.stderr.includes("as asked"));
      crashing.socket.destroy();
      if (isSignalled) child.kill("SIGINT");
      assert.equal((await child.exited).code, 1);
    });

  test("an error that nobody catches ends the process at once by default, as without us", async () => {
    await using child = await startServer({}, inPod);
    using crashing = new RawClient(child.port).get("/crash");
    assert.equal((await child.exited).code, 1);
    assert.deepEqual(child.events, []);
    crashing.socket.destroy();
  });
});
