import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createHttps } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { lameduck, type Lameduck, type LameduckOptions } from "../src/index.ts";
import { ask, askTls, type Answer } from "./ask.ts";
import { certificate } from "./certificate.ts";
import { inPod, startServer } from "./child.ts";
import { RawClient } from "./raw.ts";

/**
 * What other libraries' test suites ask of them and no other file here does. peers.md says where each of their scenarios is tested.
 */
const here = new URL(".", import.meta.url);

interface Running {
  server: Server;
  duck: Lameduck;
  port: number;
  ask(path?: string): Promise<Answer>;
}

const kinds = {
  http: { create: (answer: RequestListener): Server => createServer(answer), ask },
  https: { create: (answer: RequestListener): Server => createHttps(certificate(), answer), ask: askTls },
};

async function start(
  kind: keyof typeof kinds,
  answer: RequestListener,
  options: LameduckOptions = {},
): Promise<Running> {
  const server = kinds[kind].create(answer);
  const quiet = {
    log: false,
    exit: false,
    signals: false,
    ramp: 0,
    environment: { LAMEDUCK_GRACE_PERIOD: "30s" },
  } as const;
  const duck = lameduck(server, { ...quiet, ...options });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { server, duck, port, ask: (path = "/") => kinds[kind].ask(port, path) };
}

const ok: RequestListener = (_request, response) => void response.end("ok\n");

// One after another: a server of another test might get the port that has become free.
for (const kind of ["http", "https"] as const)
  test(`${kind}: a server without connections closes, says so, and accepts nothing any more`, async () => {
    const running = await start(kind, ok);
    assert.equal(
      (await running.ask()).connection?.toLowerCase(),
      "close",
      "asked for by a client without agent",
    );
    const closed = once(running.server, "close");
    assert.equal((await running.duck.stop()).reason, "done");
    await closed;
    assert.equal(running.server.listening, false);
    await assert.rejects(running.ask(), { code: "ECONNREFUSED" });
  });

// They mostly wait.
describe("what other libraries test", { concurrency: 6 }, () => {
  for (const kind of ["http", "https"] as const) {
    test(`${kind}: a server cuts requests that hang when the time is over, and counts them`, async () => {
      const running = await start(kind, () => {}, { grace: "1500ms", reserve: "500ms" });
      const hanging = assert.rejects(running.ask(), { code: "ECONNRESET" });
      await once(running.server, "request");
      const closed = await running.duck.terminate();
      assert.deepEqual([closed.reason, closed.cut.requests], ["deadline", 1]);
      await hanging;
    });

    test(`${kind}: a server closes as soon as what was in flight has been answered, and keeps no connection`, async () => {
      const late: RequestListener = (_request, response) =>
        void setTimeout(() => response.end("late\n"), 300);
      const running = await start(kind, late, { policy: "fixed", delay: 0, floor: 0 });
      const answer = running.ask();
      await once(running.server, "request");
      const closed = await running.duck.terminate();
      assert.deepEqual([(await answer).body, (await answer).connection], ["late\n", "close"]);
      assert.equal(closed.reason, "done");
      assert.equal(running.duck.state().open, 0);
      const left = await new Promise((resolve) =>
        running.server.getConnections((_error, count) => resolve(count)),
      );
      assert.equal(left, 0);
    });
  }

  test("a server that is not terminating never says close to a client that keeps its connection", async () => {
    const { duck, port } = await start("http", ok);
    using client = new RawClient(port);
    for (let count = 1; count <= 5; count++) await client.get("/").until(({ answers }) => answers === count);
    assert.doesNotMatch(client.received, /connection: close/i);
    await duck.stop();
  });

  test("terminate() called again and again, and stop() after it, is one termination with one end", async () => {
    const { duck } = await start("http", ok);
    let ran = 0;
    duck.hook("closed", "count", () => ran++);
    const ends = [duck.terminate("first"), duck.terminate("second"), duck.closed, duck.stop()];
    const [first, ...others] = await Promise.all(ends);
    for (const end of others) assert.equal(end, first);
    assert.equal(ran, 1);
    assert.equal(duck.phase, "closed");
  });

  test("a signal of the application's own choice terminates with its name, hooks in order", async () => {
    const { duck } = await start("http", ok);
    const told: string[] = [];
    for (const phase of ["closed", "closing", "lame-duck"] as const)
      duck.hook(phase, "tell", () => told.push(phase));
    duck.on("lame-duck", (event) => told.push(event.phase === "lame-duck" ? event.reason : ""));
    process.once("SIGHUP", () => void duck.terminate("SIGHUP"));
    process.kill(process.pid, "SIGHUP");
    await duck.closed;
    assert.deepEqual(told, ["SIGHUP", "lame-duck", "closing", "closed"]);
  });

  test("hooks of closed wait until the hold is over, and one that fails is reported with its error", async () => {
    const { duck } = await start("http", ok, { policy: "fixed", delay: "400ms" });
    const from = performance.now();
    let at = 0;
    duck.hook("closed", "broken", () => {
      at = performance.now();
      throw new Error("no such pool");
    });
    const { hooks, reason } = await duck.terminate();
    assert.ok(at - from >= 390, `${at - from}`);
    assert.equal(reason, "done");
    assert.deepEqual([hooks[0]?.result, hooks[0]?.error], ["failed", "no such pool"]);
  });

  test("the failing health path has the status that is chosen, an exact name, and treats other methods alike", async () => {
    const lbHealth = { path: "/alive", status: 500, wait: "300ms" };
    const { duck, port } = await start("http", ok, { lbHealth, policy: "until-deadline" });
    const statusOf = async (path: string): Promise<number> => (await ask(port, path)).status;
    assert.equal(await statusOf("/alive"), 200);
    const closed = duck.terminate();
    assert.equal(duck.state().phase, "lame-duck");
    assert.deepEqual(
      [
        await statusOf("/alive"),
        await statusOf("/alive?verbose"),
        await statusOf("/Alive"),
        await statusOf("/alive/"),
      ],
      [500, 500, 200, 200],
    );
    using head = new RawClient(port).send("HEAD /alive HTTP/1.1\r\nHost: x\r\n\r\n");
    await head.until(({ received }) => received.startsWith("HTTP/1.1 500"));
    await duck.stop();
    await closed;
    assert.equal(duck.state().phase, "closed");
  });

  test("servers under a lameduck() of their own each end, and then the process", async () => {
    await using child = await startServer({ servers: 3, apart: true }, { ...inPod, LAMEDUCK_FLOOR: "200ms" });
    child.kill();
    assert.equal((await child.exited).code, 0);
    const phases = child.events.flatMap((event) => (event.lameduck === "phase" ? event.phase : []));
    assert.deepEqual(
      phases.sort(),
      ["closed", "closing", "lame-duck"].flatMap((phase) => [phase, phase, phase]),
    );
  });

  test("an application that stops after an uncaught error finishes what is in flight and exits with 1", async () => {
    await using child = await startServer({ stopsAfterCrash: true }, inPod);
    const answer = ask(child.port, "/?wait=500");
    using crashing = new RawClient(child.port).get("/crash");
    assert.equal((await answer).status, 200);
    crashing.socket.destroy();
    assert.equal((await child.exited).code, 1);
    const [first] = child.events;
    assert.ok(first?.lameduck === "phase" && first.phase === "lame-duck");
    assert.equal(first.reason, "as asked");
  });

  test("peers.md names tests that exist, and nothing else", () => {
    const source = readdirSync(here)
      .filter((name) => name.endsWith(".test.ts"))
      .map((name) => readFileSync(new URL(name, here), "utf8"))
      .join("\n");
    const rows = readFileSync(new URL("peers.md", here), "utf8")
      .split("\n")
      .filter((line) => line.startsWith("| ") && !line.startsWith("| peer") && !line.startsWith("| ---"));
    assert.ok(rows.length >= 30, `${rows.length}`);
    for (const row of rows) {
      const ours = row.split("|")[3]?.trim() ?? "";
      if (ours.startsWith("none: ")) continue;
      for (const title of ours.split(" + ")) {
        // A title that is made for several protocols is written with the name of the variable.
        assert.ok(source.includes(title), `no test has in its title: ${title}`);
      }
    }
  });

  test("connections from before the library was attached are ended like the others, and counted", async () => {
    const server = createServer(ok);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    using client = new RawClient((server.address() as AddressInfo).port);
    await client.get("/").until(() => client.answers === 1);
    const duck = lameduck(server, { log: false, exit: false, signals: false, environment: {} });
    assert.equal(duck.state().open, 1);
    const closed = await duck.stop();
    assert.deepEqual([closed.reason, closed.cut], ["done", { requests: 0, connections: 0 }]);
    await client.until(() => client.ended);
    assert.equal(client.error, undefined, "by end of stream, not by a reset");
  });
});
