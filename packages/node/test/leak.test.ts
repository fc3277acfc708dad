import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { lameduck } from "../src/index.ts";
import { ask, idleConnection } from "./ask.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

test("no connection and no request is held once it is over", async () => {
  const held: WeakRef<object>[] = [];
  const server: Server = createServer((request, response) => {
    held.push(new WeakRef(request), new WeakRef(response));
    response.end("ok\n");
  });
  server.on("connection", (socket) => held.push(new WeakRef(socket)));
  const duck = lameduck(server, { log: false, exit: false, signals: false, environment: {} });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  for (let count = 0; count < 1_000; count += 50)
    await Promise.all(Array.from({ length: 50 }, () => ask(port)));
  const idle = await Promise.all(Array.from({ length: 50 }, () => idleConnection(port)));
  assert.equal(duck.state().open, 50);
  for (const socket of idle) socket.destroy();
  const latest = performance.now() + 10_000;
  let alive = held.length;
  while (alive > 10 && performance.now() < latest) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    collect();
    alive = held.filter((reference) => reference.deref() !== undefined).length;
  }
  // Node itself keeps the parser of a connection, and with it a request or two, for reuse.
  assert.ok(alive <= 10, `${alive} of ${held.length} are still held`);
  assert.equal(duck.state().open, 0);
  await duck.stop();
});
