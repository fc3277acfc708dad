/** What is left behind by a Lameduck that was detached, or whose server has closed: nothing. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { SignalGate, type SignalMember } from "../src/signals/signals.ts";
import { lameduck, lameduckAll } from "../src/index.ts";

test("an application's own handler gets signals after the last member has left", async () => {
  const gate = new SignalGate();
  const member: SignalMember = {
    signals: ["SIGHUP"],
    signal: () => true,
    holds: () => false,
    processEnds: () => undefined,
  };
  const isReplaced = Object.hasOwn(process, "emit");
  const called = Promise.withResolvers<void>();
  const own = (): void => called.resolve();
  process.on("SIGHUP", own);
  gate.join(member);
  gate.leave(member);
  process.kill(process.pid, "SIGHUP");
  await called.promise;
  process.removeListener("SIGHUP", own);
  assert.equal(Object.hasOwn(process, "emit"), isReplaced);
});

test("reading `closed` again and again adds no listener", async () => {
  const server = createServer();
  const duck = lameduck(server, { signals: false, exit: false });
  const promises = new Set(Array.from({ length: 20 }, () => duck.closed));
  assert.equal(promises.size, 1);
  duck.detach();
});

test("servers that listen after a detach are not found", async () => {
  const duck = lameduckAll({ signals: false, exit: false });
  duck.detach();
  const server = createServer().listen(0);
  await once(server, "listening");
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(duck.state().open, 0);
  assert.equal(server.listenerCount("connection"), createServer().listenerCount("connection"));
  server.close();
});

test("a server whose close() throws does not keep the process from ending", async () => {
  const server = createServer().listen(0);
  await once(server, "listening");
  const close = server.close.bind(server);
  server.close = () => {
    throw new Error("not now");
  };
  const duck = lameduck(server, {
    signals: false,
    exit: false,
    log: false,
    policy: "fixed",
    delay: 0,
    floor: 0,
  });
  const closed = await duck.stop();
  assert.equal(closed.phase, "closed");
  server.close = close;
  server.close();
});
