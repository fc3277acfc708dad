/** Programs with a shutdown of their own: with us it does all that it does without us, and the end of the process is theirs. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ask } from "./ask.ts";
import type { LameDuckEvent } from "../src/events.ts";
import { fixture, inPod, startScript, type Child } from "./child.ts";

const pod = { ...inPod, LAMEDUCK_FLOOR: "300ms", LAMEDUCK_CONVERGENCE: "50ms" };

function start(handler: string, env: Record<string, string> = pod): Promise<Child> {
  return startScript([fixture("handlers.ts")], { HANDLER: handler, ...env });
}

/** What the process says of the program. */
function told(child: Child): string[] {
  return child.events.flatMap((event) =>
    event.lameduck === "notice" && event.notice === "handlers" ? [event.message] : [],
  );
}

type End = number | NodeJS.Signals;

/** Programs that exit without closing their server end it. */
const printsClosed = /close|hook/;

/** What the program does at the signal; how it ends without us, and with us. */
const endings: Record<string, readonly [end: End, printed: RegExp, env?: Record<string, string>]> = {
  "an asynchronous clean-up, then exit": [5, /cleaned up/],
  "a clean-up that nobody awaits": [6, /cleaned up/],
  "close, clean-up, exit": [7, /closed undefined\ncleaned up/],
  "sleep, then close": [0, /closed undefined/],
  "sleep, then close, outside of a pod": [0, /closed undefined/, {}],
  "sleep, then close, beyond the cap": [
    0,
    /closed undefined/,
    { ...pod, LAMEDUCK_CAP: "400ms", LAMEDUCK_GRACE_PERIOD: "8s" },
  ],
  "a flag": [0, /job done\ncleaned up/],
  "await once": [0, /cleaned up/],
  "await once, outside of a pod": [0, /cleaned up/, {}],
  "the event loop is empty": [3, /cleaned up\nleft 3$/],
  "raised again": ["SIGTERM", /own handler/],
  "raised again, later": ["SIGTERM", /cleaned up/],
  "exit, with a hook of closed": [4, /own handler in closing\nhook/],
  "raised again, with a hook of closed": ["SIGTERM", /own handler in closing\nhook/],
  "close and exit, with a hook of closed": [0, /closed undefined\nhook/],
  "close at once": [0, /closed undefined/],
  "all listeners removed before": [0, /^(?!.*own handler)/s],
  "all listeners of everything removed before": [0, /^(?!.*own handler)/s],
  "all listeners of everything removed before the call": [0, /^(?!.*own handler)/s],
  "ten handlers": [0, /own handler/],
};

describe("a program's own shutdown", { concurrency: 3 }, () => {
  for (const [handler, [end, printed, env]] of Object.entries(endings))
    test(`${handler}: ends as without us`, async () => {
      await using child = await start(handler.replace(/, (outside of a pod|beyond the cap)$/, ""), env);
      child.kill();
      const { code, signal } = await child.exited;
      assert.equal(code ?? signal, end, child.stderr);
      assert.match(child.stdout.trim(), printed);
      assert.deepEqual(told(child), []);
      assert.doesNotMatch(child.stderr, /again|Warning/);
      const closed = child.event("closed");
      assert.match(closed?.reason ?? "", printsClosed.test(handler) ? /^done$/ : /^(done|exit)$/);
      assert.deepEqual(
        closed?.hooks.map(({ result }) => result),
        handler.includes("hook") ? ["done"] : [],
      );
      if (handler.includes("hook")) assert.equal(closed?.exitCode, typeof end === "number" ? end : 143);
    });

  test("requests are served while a program waits before it closes its server", async () => {
    await using child = await start("sleep, then close", {});
    child.kill();
    await child.until(() => child.stdout.includes("own handler"));
    const from = performance.now();
    let last = from;
    while (!child.stdout.includes("closed")) {
      const answer = await ask(child.port).catch(() => undefined);
      if (answer) last = performance.now();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.ok(last - from > 1_000, `${last - from} ms of 2 s`);
    assert.equal((await child.exited).code, 0);
  });

  test("what never ends is waited for until just before the deadline, and named", async () => {
    await using child = await start("never ends", { ...pod, LAMEDUCK_GRACE_PERIOD: "4s" });
    child.kill();
    assert.equal((await child.exited).code, 0);
    const begun = child.events.find((event) => event.lameduck === "phase" && event.phase === "lame-duck");
    const left = (begun as LameDuckEvent).deadline - child.events.at(-1)!.at;
    assert.ok(left < 1_000, `${left} ms before the deadline`);
    assert.deepEqual(told(child), ["no more time for what the program does after SIGTERM: 1 Timeout"]);
  });

  test("a request in flight at the cap is answered before a handler exits", async () => {
    await using child = await start("exit", { ...pod, LAMEDUCK_GRACE_PERIOD: "8s", LAMEDUCK_RESERVE: "6s" });
    const answer = ask(child.port, "/?wait=3000");
    await child.until(() => child.stdout.includes("request"));
    child.kill();
    assert.equal((await answer).status, 200);
    assert.equal((await child.exited).code, 4);
    assert.equal(child.event("closing")?.reason, "cap");
    assert.match(
      child.stderr,
      /for answers that take T the grace period must be T \+ \d+s \(\d+s until the senders/,
    );
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

  for (const [place, env] of Object.entries({ "outside of a pod": {}, "in a pod": pod }))
    test(`a clean-up that fails beside an interval ends the process, ${place}`, async () => {
      await using child = await start("rejects beside an interval", env);
      const answer = ask(child.port, "/?wait=500");
      await child.until(() => child.stdout.includes("request"));
      child.kill();
      assert.equal((await answer).status, 200);
      assert.equal((await child.exited).code, 1);
      assert.equal(child.event("closed")?.exitCode, 1);
      assert.deepEqual(told(child), []);
    });

  test("a handler that a tool hides from the program gets the signal at once", async () => {
    await using child = await start("hidden", { ...pod, LAMEDUCK_FLOOR: "1s" });
    child.kill();
    await child.until(() => child.stdout.includes("the tool knows"));
    assert.equal(child.event("closing"), undefined);
    assert.equal((await child.exited).code, 0);
    assert.equal(child.stdout.match(/the tool knows/g)?.length, 1);
  });

  test("in a pod SIGINT is a termination like SIGTERM: held, then passed on", async () => {
    await using child = await start("await once", { ...pod, LAMEDUCK_FLOOR: "500ms" });
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
    const longer = { ...pod, LAMEDUCK_FLOOR: "500ms" };
    await using interrupted = await start("close at once", { ...longer, LAMEDUCK_SIGNALS: "SIGTERM" });
    interrupted.kill("SIGINT");
    assert.equal((await interrupted.exited).code, 0);
    assert.equal(interrupted.event("closing")?.reason, "forced");
    assert.match(interrupted.stdout, /closed/);
    await using quitting = await start("close at once", { ...longer, LAMEDUCK_SIGNALS: "SIGQUIT, SIGTERM" });
    quitting.kill("SIGQUIT");
    await quitting.until("lame-duck");
    assert.equal((await ask(quitting.port)).status, 200);
    assert.equal((await quitting.exited).code, 0);
    assert.ok(quitting.event("closing")!.hold >= 490);
  });
});
