import assert from "node:assert/strict";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { describe, test } from "node:test";
import { io } from "socket.io-client";
import { WebSocket } from "ws";
import { ask } from "./ask.ts";
import { fixture, inPod, startScript, startServer, type Child } from "./child.ts";

const env = { ...inPod, LAMEDUCK_FLOOR: "500ms", LAMEDUCK_CONVERGENCE: "100ms" };

function start(protocol: string): Promise<Child> {
  return startScript([fixture("protocols.ts")], { ...env, PROTOCOL: protocol });
}

async function openSocket(child: Child): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${child.port}`);
  await once(socket, "open");
  return socket;
}

describe("connections that never finish by themselves", { concurrency: 3 }, () => {
  test("WebSockets are kept during the hold and closed with 1001", async () => {
    await using child = await start("ws");
    const early = await openSocket(child);
    child.kill();
    await child.until("lame-duck");
    const late = await openSocket(child);
    const closed = [early, late].map((socket) => once(socket, "close"));
    for (const socket of [early, late]) {
      socket.send("hello");
      const [data] = (await once(socket, "message")) as [Buffer];
      assert.equal(data.toString(), "hello", "served during the hold");
    }
    for (const [code] of await Promise.all(closed)) assert.equal(code, 1001);
    assert.equal((await child.exited).code, 0);
    assert.equal(child.event("closed")?.reason, "done");
    assert.equal(child.event("closing")?.connections, 1);
  });

  for (const [own, expected] of [
    ["", 1001],
    ["4000", 4000],
  ] as const)
    test(`a handler of the application that closes WebSockets ${own === "" ? "without a code" : "with a code of its own"}: ${expected}`, async () => {
      await using child = await startScript([fixture("protocols.ts")], {
        ...env,
        PROTOCOL: "ws",
        OWN_CODE: own,
      });
      const sockets = await Promise.all(Array.from({ length: 20 }, () => openSocket(child)));
      const received = sockets.map((socket) => {
        const data: string[] = [];
        socket.on("message", (message: Buffer) => data.push(message.toString("latin1")));
        return data;
      });
      const closed = sockets.map((socket) => once(socket, "close"));
      child.kill();
      for (const [code] of await Promise.all(closed)) assert.equal(code, expected);
      for (const data of received) assert.deepEqual(data, ["\u0088\0", "goodbye"]);
      assert.equal((await child.exited).code, 0);
      assert.equal(child.event("closed")?.reason, "done");
    });

  test("a WebSocket client that never answers does not hold the process", async () => {
    await using child = await start("ws");
    const deaf = connect(child.port, "127.0.0.1");
    deaf.on("error", () => {});
    deaf.write(
      "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    await once(deaf, "data");
    child.kill();
    assert.equal((await child.exited).code, 0);
    assert.ok(child.endedBeforeCap, child.stderr);
    deaf.destroy();
  });

  for (const transport of ["websocket", "polling"])
    test(`socket.io over ${transport}: kept during the hold, then free to reconnect elsewhere`, async () => {
      await using child = await start("socket.io");
      const client = io(`http://127.0.0.1:${child.port}`, {
        transports: [transport],
        upgrade: false,
        reconnectionDelay: 20,
      });
      await new Promise<void>((resolve) => client.once("connect", resolve));
      child.kill();
      await child.until("lame-duck");
      assert.equal(await client.emitWithAck("echo", "hello"), "hello");
      await new Promise((resolve) => client.once("disconnect", resolve));
      assert.ok(client.active, "it is going to reconnect by itself");
      client.close();
      assert.equal((await child.exited).code, 0);
      assert.equal(child.event("closed")?.reason, "done");
      assert.ok(child.endedBeforeCap, child.stderr);
    });

  test("server-sent events do not hold the process and end without a reset", async () => {
    await using child = await startServer({}, env);
    const headers = { accept: "text/event-stream" };
    const response = await new Promise<IncomingMessage>((resolve) =>
      get({ host: "127.0.0.1", port: child.port, path: "/events", headers, agent: false }, resolve),
    );
    child.kill();
    let received = "";
    response.setEncoding("utf8").on("data", (text: string) => (received += text));
    await once(response, "end");
    assert.ok(response.complete);
    assert.match(received, /\n\n$/);
    assert.equal((await child.exited).code, 0);
    assert.equal(child.event("closed")?.reason, "done");
  });

  test("an event that is written in two parts is not cut between them", async () => {
    await using child = await startServer({}, env);
    const streams = Array.from({ length: 20 }, async () => (await ask(child.port, "/halves")).body);
    // Nothing says from outside when all have begun.
    await new Promise((resolve) => setTimeout(resolve, 300));
    child.kill();
    for (const body of await Promise.all(streams)) assert.match(body, /second half\r\n\r\n$/);
    assert.equal((await child.exited).code, 0);
    assert.equal(child.event("closed")?.reason, "done");
  });

  test("an event stream that its client did not ask for as such is known by its answer", async () => {
    await using child = await startServer({}, env);
    child.kill();
    await child.until("lame-duck");
    const answer = await ask(child.port, "/events");
    assert.match(answer.body, /tick/);
    assert.equal((await child.exited).code, 0);
  });
});
