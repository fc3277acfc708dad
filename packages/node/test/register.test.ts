import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { ask } from "./ask.ts";
import { fixture, inPod, startScript, type Child } from "./child.ts";

const register = fileURLToPath(new URL("../src/register.ts", import.meta.url));
const shortFloor = { ...inPod, LAMEDUCK_FLOOR: "600ms", LAMEDUCK_CONVERGENCE: "100ms" };

function start(script: string, env: Record<string, string> = {}): Promise<Child> {
  return startScript(["--import", register, fixture(script)], { ...shortFloor, ...env }, (child) =>
    /listening|ready/.test(child.stdout),
  );
}

/** Serves on after SIGTERM, with every handler held back, and ends. */
async function serveOn(child: Child): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  child.kill();
  await child.until("lame-duck");
  for (const port of child.ports) assert.equal((await ask(port)).status, 200);
  assert.doesNotMatch(child.stdout, /own handler/);
  const { code, signal } = await child.exited;
  assert.ok(child.event("closing")!.hold >= 590);
  return { code, signal };
}

describe("attached without code", { concurrency: 3 }, () => {
  test("a CommonJS server without a handler is held and closed by us", async () => {
    await using child = await start("plain.cjs");
    assert.deepEqual(await serveOn(child), { code: 0, signal: null });
    assert.equal(child.event("closed")?.reason, "done");
  });

  test("an ES module that creates its servers later is held and closed by us", async () => {
    await using child = await start("plain.mjs");
    assert.equal(child.ports.length, 2);
    assert.deepEqual(await serveOn(child), { code: 0, signal: null });
  });

  test("an application that closes by itself does so when the hold is over", async () => {
    await using child = await start("plain.cjs", { HANDLER: "close" });
    assert.deepEqual(await serveOn(child), { code: 0, signal: null });
    assert.match(child.stdout, /own handler\nclosed by itself/);
  });

  test("an application that exits by itself keeps its exit code", async () => {
    await using child = await start("plain.cjs", { HANDLER: "once-exit" });
    assert.deepEqual(await serveOn(child), { code: 7, signal: null });
    assert.equal(child.event("closed")?.exitCode, 7);
  });

  test("an application that takes its time is waited for", async () => {
    await using child = await start("plain.cjs", { HANDLER: "slow" });
    assert.deepEqual(await serveOn(child), { code: 0, signal: null });
    assert.match(child.stdout, /closed by itself/);
  });

  test("a handler that acts only when alone finds itself alone", async () => {
    await using child = await start("plain.cjs", { HANDLER: "kill-self" });
    assert.deepEqual(await serveOn(child), { code: null, signal: "SIGTERM" });
    assert.match(child.stdout, /own handler 1/);
  });

  test("requests in flight finish although the application exits at once", async () => {
    await using child = await start("plain.cjs", { HANDLER: "once-exit" });
    const answer = ask(child.port, "/?wait=1500");
    await new Promise((resolve) => setTimeout(resolve, 100));
    child.kill();
    assert.equal((await answer).status, 200);
    assert.equal((await child.exited).code, 7);
  });

  test("a process without a server is left alone", async () => {
    await using child = await start("idle.mjs");
    child.kill();
    assert.equal((await child.exited).signal, "SIGTERM");
    assert.deepEqual(child.events, []);
  });

  test("a server that code names is given up to that code", async () => {
    await using child = await start("both.ts");
    child.kill();
    assert.equal((await child.exited).code, 0);
    assert.equal(child.events.filter((event) => event.lameduck === "phase").length, 3);
    assert.equal(child.event("closing")?.reason, "delay");
  });

  for (const signal of ["SIGTERM", "SIGINT"] as const)
    test(`the primary of a cluster passes ${signal} on and waits for its workers`, async () => {
      // The workers must still serve when a busy machine comes to ask them.
      await using child = await start("workers.mjs", { LAMEDUCK_FLOOR: "3s" });
      child.kill(signal);
      await child.until(() => child.events.filter((event) => event.lameduck === "phase").length >= 3);
      const seen = new Set<string>();
      for (let count = 0; count < 6; count++) seen.add((await ask(child.port)).body);
      assert.equal(seen.size, 2, "both workers serve on");
      assert.equal((await child.exited).code, 0);
      const closed = child.events.filter((event) => event.lameduck === "phase" && event.phase === "closed");
      assert.equal(closed.length, 3);
    });

  test("a worker that the application forks during the hold serves nobody and is ended by SIGTERM", async () => {
    await using child = await start("workers.mjs", { LAMEDUCK_FLOOR: "3s" });
    child.kill();
    await child.until(() => child.events.filter((event) => event.lameduck === "phase").length >= 3);
    const { body } = await ask(child.port);
    process.kill(Number(body), "SIGKILL");
    // The one killed, and the one forked in its place.
    await child.until(() => /ended with SIGKILL[^]*ended with SIG/.test(child.stdout));
    assert.match(child.stdout, /ended with SIGKILL\nended with SIGTERM\n/);
    assert.equal((await child.exited).code, 0);
    assert.doesNotMatch(child.stdout, /SIGKILL[^]*SIGKILL/);
  });

  test("a misspelt variable is one line, a foreign one none, and the server starts", async () => {
    const environment = { LAMEDUCK_GRACE_PERIDO: "20", LAMEDUCK_PORT: "tcp://10.96.0.7:80" };
    await using child = await startScript(["--import", register, fixture("plain.cjs")], environment);
    await child.until(() => child.port > 0);
    await ask(child.port);
    child.kill();
    assert.equal((await child.exited).code, 0);
    const notices = child.events.flatMap((event) => (event.lameduck === "notice" ? [event.message] : []));
    assert.deepEqual(notices, ["LAMEDUCK_GRACE_PERIDO is unknown; did you mean LAMEDUCK_GRACE_PERIOD?"]);
  });

  test("a mistake in the environment is one line and exit 2", async () => {
    const child = await startScript(["--import", register, fixture("plain.cjs")], { LAMEDUCK_FLOOR: "soon" });
    assert.equal((await child.exited).code, 2);
    assert.match(
      child.stderr,
      /^lameduck: LAMEDUCK_BAD_DURATION: LAMEDUCK_FLOOR: "soon" is not a duration; .*\n$/,
    );
  });
});
