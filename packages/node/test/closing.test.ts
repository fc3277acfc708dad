import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { systemClock } from "../src/clock.ts";
import { Closing } from "../src/closing/closing.ts";
import type { Servers } from "../src/servers/servers.ts";

/** Writes to the server when it is told to, while the server's own thread stands still. */
const client = `
const { parentPort, workerData: { port, signal } } = require("node:worker_threads");
const socket = require("node:net").connect(port, "127.0.0.1", () => parentPort.postMessage("connected"));
parentPort.on("message", () => socket.write("GET / HTTP/1.1", () => {
  Atomics.store(signal, 0, 1);
  Atomics.notify(signal, 0);
}));
`;

test("what arrived while the loop stood still is read before a connection is ended as idle", async (context) => {
  const signal = new Int32Array(new SharedArrayBuffer(4));
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const worker = new Worker(client, {
    eval: true,
    workerData: { port: (server.address() as AddressInfo).port, signal },
  });
  context.after(async () => {
    server.close();
    await worker.terminate();
  });
  const [[socket]] = await Promise.all([once(server, "connection"), once(worker, "message")]);
  socket.resume();

  let isOpen = true;
  let readWhenEnded = -1;
  const servers = {
    tick: () => undefined,
    endStreams: () => undefined,
    restless: () => (blocked ? 0 : 1),
    get open() {
      return isOpen ? 1 : 0;
    },
    endIdle: () => {
      readWhenEnded = socket.bytesRead;
      isOpen = false;
      socket.destroy();
    },
  } as unknown as Servers;
  let blocked = false;
  // Timers that are due come first when the loop goes on, before it reads sockets.
  setImmediate(() => {
    worker.postMessage("write");
    Atomics.wait(signal, 0, 0, 10_000);
    // Longer than the closing's own timer, which is due at once then.
    Atomics.wait(signal, 0, 1, 50);
    blocked = true;
  });
  const closing = new Closing(servers, systemClock);
  await closing.drain(
    0,
    () => false,
    Promise.resolve(),
    () => Infinity,
  );
  assert.ok(readWhenEnded > 0, "the request was in the kernel, unread");
});
