import assert from "node:assert/strict";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { io } from "socket.io-client";
import { WebSocket } from "ws";
import { ask } from "./ask.ts";
import { fixture, inPod, startScript, startServer, type Child } from "./child.ts";

const register = fileURLToPath(new URL("../src/register.ts", import.meta.url));
const env = { ...inPod, LAMEDUCK_FLOOR: "500ms", LAMEDUCK_CONVERGENCE: "100ms" };

function start(protocol: string): Promise<Child> {
  return startScript([fixture("protocols.ts")], { ...env, PROTOCOL: protocol });
}

async function openSocket(child: Child): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${child.port}`);
  await once(socket, "open");
  return socket;
}

interface Talk {
  readonly socket: WebSocket;
  sent: number;
  answered: number;
}

/** A client that says something a while after it has been answered. */
async function talk(child: Child): Promise<Talk> {
  const socket = await openSocket(child);
  const talking: Talk = { socket, sent: 0, answered: 0 };
  const say = (): void => {
    if (socket.readyState !== WebSocket.OPEN) return;
    socket.send("hello");
    talking.sent++;
  };
  socket.on("message", () => {
    talking.answered++;
    setTimeout(say, 300);
  });
  say();
  return talking;
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

  for (const [what, late, unanswered] of [
    ["a message that crosses the close frame", [0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69], 1],
    ["an answer to the close frame alone", [], 0],
  ] as const)
    test(`${what} counts ${unanswered} messages as not answered`, async () => {
      await using child = await start("ws");
      const client = connect(child.port, "127.0.0.1");
      client.write(
        "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
          "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
      );
      await once(client, "data");
      child.kill();
      const [frame] = (await once(client, "data")) as [Buffer];
      assert.deepEqual([...frame], [0x88, 2, 3, 0xe9]);
      client.write(Buffer.from([...late, 0x88, 0x82, 0, 0, 0, 0, 3, 0xe9]));
      client.resume();
      assert.equal((await child.exited).code, 0);
      assert.deepEqual(child.event("closed")?.lasting, { ended: 1, unanswered });
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

  test("with a spread, without code, WebSockets end one after the other once the hold is over, and the server serves on meanwhile", async () => {
    await using child = await startScript(["--import", register, fixture("protocols.ts")], {
      ...env,
      PROTOCOL: "ws",
      ATTACHED: "without code",
      // A handler that would end them all at once.
      OWN_CODE: "4000",
      LAMEDUCK_SPREAD: "3s",
    });
    let ended = 0;
    const talks = await Promise.all(Array.from({ length: 60 }, () => talk(child)));
    const closed = talks.map(async ({ socket }) => {
      const [code] = (await once(socket, "close")) as [number];
      assert.equal(code, 1001);
      assert.ok(child.event("closing"), "not before the hold is over");
      ended++;
    });
    child.kill();
    await child.until(() => ended > 0);
    const late = await openSocket(child);
    late.send("hello");
    await once(late, "message");
    assert.ok(ended < talks.length, "a new connection is served while others are still to be ended");
    await Promise.all(closed);
    for (const { sent, answered } of talks) assert.equal(answered, sent);
    assert.equal((await child.exited).code, 0);
    assert.deepEqual(child.event("closed")?.lasting, { ended: 61, unanswered: 0 });
    assert.equal(child.event("closed")?.reason, "done");
  });

  test("with a spread lasting connections begin to end while a long answer is still in flight", async () => {
    await using child = await startServer({}, { ...env, LAMEDUCK_SPREAD: "3s" });
    const headers = { accept: "text/event-stream" };
    const events = await new Promise<IncomingMessage>((resolve) =>
      get({ host: "127.0.0.1", port: child.port, path: "/events", headers, agent: false }, resolve),
    );
    const answer = ask(child.port, "/?wait=8000");
    await child.until(() => true);
    child.kill();
    await once(events.resume(), "end");
    assert.ok(events.complete);
    assert.equal(child.event("closing"), undefined, "the hold waits for the answer");
    assert.equal((await answer).status, 200);
    assert.equal((await child.exited).code, 0);
    assert.equal(child.event("closed")?.lasting.ended, 1);
  });
});
