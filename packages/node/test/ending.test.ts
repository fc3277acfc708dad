import assert from "node:assert/strict";
import { Agent, request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { describe, test } from "node:test";
import { ask, idleConnection } from "./ask.ts";
import { inPod, startServer } from "./child.ts";

describe("the end of a termination", { concurrency: 2 }, () => {
  test("a request that hangs is cut before the deadline, and the log says so", async () => {
    const env = { ...inPod, LAMEDUCK_GRACE_PERIOD: "3s", LAMEDUCK_RESERVE: "1s" };
    await using child = await startServer({ hooks: [["closed", "flush", 10]] }, env);
    const hanging = httpRequest({ host: "127.0.0.1", port: child.port, path: "/hang" }).end();
    hanging.on("error", () => {}).on("response", (response) => response.on("error", () => {}).resume());
    await new Promise((resolve) => hanging.once("response", resolve));
    child.kill();
    assert.equal((await child.exited).code, 0);
    assert.match(child.stdout, /hook flush/);
    assert.equal(child.event("closing")?.reason, "cap");
    const closed = child.event("closed");
    assert.equal(closed?.reason, "deadline");
    assert.deepEqual(closed.cut, { requests: 1, connections: 1 });
  });

  test("hooks run in order, each in its own time, whatever became of the others", async () => {
    const hooks = [
      ["closed", "pool", 20],
      ["closing", "queue", "throws"],
      ["lame-duck", "registry", 10],
      ["closed", "logs", "hangs"],
      ["closed", "last", 1],
    ];
    await using child = await startServer({ hooks }, {});
    child.kill();
    assert.equal((await child.exited).code, 0);
    assert.deepEqual(child.stdout.match(/(?<=hook )\w+/g), ["registry", "queue", "pool", "logs", "last"]);
    assert.deepEqual(
      child.event("closed")?.hooks.map(({ name, result }) => `${name} ${result}`),
      ["registry done", "queue failed", "pool done", "logs timed out", "last done"],
    );
  });

  test("silent and half-open connections, uploads and slow readers end well before the deadline", async () => {
    const env = { ...inPod, LAMEDUCK_FLOOR: "200ms", LAMEDUCK_CONVERGENCE: "50ms" };
    await using child = await startServer({ options: { ramp: 0 } }, env);
    const silent = connect(child.port, "127.0.0.1");
    const half = connect(child.port, "127.0.0.1");
    half.write("GET / HTTP/1.1\r\nHos");
    const idle = new Agent({ keepAlive: true });
    await ask(child.port, "/", idle);
    const upload = connect(child.port, "127.0.0.1");
    let answer = "";
    upload.setEncoding("utf8").on("data", (text: string) => (answer += text));
    upload.write("POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\n1234");
    for (const socket of [silent, half, upload]) socket.on("error", () => {});
    await child.until(() => silent.readyState === "open" && half.bytesWritten > 0);
    child.kill();
    await child.until("lame-duck");
    setTimeout(() => upload.write("5678"), 1_000);
    assert.equal((await child.exited).code, 0);
    assert.match(answer, /8\n/);
    assert.match(answer, /connection: close/i);
    assert.deepEqual(child.event("closed")?.cut, { requests: 0, connections: 0 });
    assert.ok(child.endedBeforeCap, child.stderr);
    for (const socket of [silent, half, upload]) socket.destroy();
    idle.destroy();
  });

  test("several servers end together, under one decision", async () => {
    const env = { ...inPod, LAMEDUCK_FLOOR: "2s", LAMEDUCK_CONVERGENCE: "100ms" };
    await using child = await startServer({ servers: 3 }, env);
    child.kill();
    await child.until("lame-duck");
    for (const port of child.ports) assert.equal((await ask(port)).status, 200);
    assert.equal((await child.exited).code, 0);
    assert.equal(child.event("closing")?.connections, 3);
  });

  test("ten thousand idle connections cost no time", async () => {
    const env = {
      ...inPod,
      LAMEDUCK_FLOOR: "300ms",
      LAMEDUCK_CONVERGENCE: "50ms",
      LAMEDUCK_POLICY: "quiet",
      LAMEDUCK_WINDOW: "200ms",
    };
    await using child = await startServer({}, env);
    const sockets: Socket[] = [];
    for (let count = 0; count < 10_000; count += 500)
      sockets.push(...(await Promise.all(Array.from({ length: 500 }, () => idleConnection(child.port)))));
    child.kill();
    assert.equal((await child.exited).code, 0);
    assert.equal(child.event("closed")?.reason, "done");
    assert.ok(child.endedBeforeCap, child.stderr);
    for (const socket of sockets) socket.destroy();
  });
});
