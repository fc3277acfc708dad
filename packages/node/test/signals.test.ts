import assert from "node:assert/strict";
import { request as httpRequest } from "node:http";
import { describe, test } from "node:test";
import { ask } from "./ask.ts";
import { fixture, inPod, startScript, startServer } from "./child.ts";

describe("signals", { concurrency: 3 }, () => {
  test("a second SIGTERM is logged and changes nothing; SIGINT ends the hold", async () => {
    await using child = await startServer(
      {},
      { ...inPod, LAMEDUCK_FLOOR: "20s", LAMEDUCK_SIGNALS: "SIGTERM" },
    );
    child.kill();
    await child.until("lame-duck");
    child.kill();
    await child.until(() => child.events.some((event) => event.lameduck === "notice"));
    assert.equal(child.event("closing"), undefined);
    child.kill("SIGINT");
    assert.equal((await child.exited).code, 0);
    assert.equal(child.event("closing")?.reason, "forced");
  });

  test("a signal comes again only if it came before", async () => {
    const env = { ...inPod, LAMEDUCK_FLOOR: "1500ms", LAMEDUCK_SIGNALS: "SIGTERM,SIGUSR2" };
    await using child = await startServer({}, env);
    const heard = (): string[] =>
      child.events.flatMap((event) => (event.lameduck === "notice" ? [event.message] : []));
    child.kill();
    await child.until("lame-duck");
    for (const [index, signal] of (["SIGUSR2", "SIGUSR2", "SIGTERM"] as const).entries()) {
      child.kill(signal);
      await child.until(() => heard().length > index);
    }
    const nothing = "during lame-duck: changes nothing";
    assert.deepEqual(heard(), [
      `SIGUSR2, ${nothing}`,
      `SIGUSR2 again, ${nothing}`,
      `SIGTERM again, ${nothing}`,
    ]);
    assert.equal((await child.exited).code, 0);
  });

  test("a second SIGINT ends the process", async () => {
    await using child = await startServer({}, { ...inPod, LAMEDUCK_SIGNALS: "SIGTERM" });
    const hanging = httpRequest({ host: "127.0.0.1", port: child.port, path: "/hang" }).end();
    hanging.on("error", () => {}).on("response", (response) => response.on("error", () => {}).resume());
    await new Promise((resolve) => hanging.once("response", resolve));
    child.kill("SIGINT");
    await child.until("closing");
    child.kill("SIGINT");
    assert.equal((await child.exited).code, 130);
  });

  test("SIGTERM handlers of others run when the hold is over", async () => {
    await using child = await startServer(
      { ownHandler: "close" },
      { ...inPod, LAMEDUCK_FLOOR: "500ms", LAMEDUCK_CONVERGENCE: "100ms" },
    );
    child.kill();
    await child.until("lame-duck");
    assert.equal((await ask(child.port)).status, 200);
    assert.doesNotMatch(child.stdout, /own handler/);
    assert.equal((await child.exited).code, 0);
    assert.match(child.stdout, /own handler/);
    assert.equal(child.event("closed")?.reason, "done");
  });

  test("a handler of others that exits ends the story with a closed event, too", async () => {
    await using child = await startServer({ ownHandler: "exit" }, { ...inPod, LAMEDUCK_FLOOR: "100ms" });
    child.kill();
    assert.equal((await child.exited).code, 0);
    assert.equal(child.event("closed")?.exitCode, 0);
  });

  test("an uncaught error during the termination costs neither requests nor hooks", async () => {
    const env = {
      ...inPod,
      LAMEDUCK_FLOOR: "300ms",
      LAMEDUCK_GRACE_PERIOD: "8s",
      LAMEDUCK_SIGNALS: "SIGTERM",
    };
    await using child = await startServer({ hooks: [["closed", "flush", 1]] }, env);
    const answer = ask(child.port, "/?wait=1000");
    child.kill();
    await child.until("lame-duck");
    const crash = ask(child.port, "/crash").catch((error: Error) => error.message);
    await child.until(() => child.events.some((event) => event.lameduck === "notice"));
    assert.equal((await answer).status, 200);
    child.kill("SIGINT");
    assert.equal((await child.exited).code, 1);
    assert.match(child.stdout, /hook flush/);
    assert.match(child.stderr, /as asked/);
    await crash;
  });

  test("SIGTERM before listen() ends the process at once", async () => {
    await using child = await startScript([fixture("early.ts")], inPod, ({ stdout }) =>
      stdout.includes("ready"),
    );
    child.kill();
    assert.equal((await child.exited).code, 0);
    assert.equal(child.event("closing")?.reason, "forced");
  });
});
