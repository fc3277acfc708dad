import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, createServer } from "node:http";
import { connect } from "node:http2";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { WebSocket } from "ws";
import { lameduck } from "../src/index.ts";
import { ask } from "./ask.ts";
import { fixture, inPod, startCounted, type Child } from "./child.ts";

interface Counts {
  Socket: number;
  IncomingMessage: number;
  ServerResponse: number;
  /** Requests, responses, connections, sessions and streams that the server has met and not yet let go. */
  held: number;
  seen: number;
  open: number;
}

/** What Node itself keeps for reuse or a turn of the loop longer: a parser's last request, a session being torn down. */
const nodesOwn = 10;

async function count(child: Child): Promise<Counts> {
  child.process.send?.("count");
  const [counts] = (await once(child.process, "message")) as [Counts];
  return counts;
}

/** Garbage is collected when it is: asks until nothing but Node's own is left, and gives up late. */
async function settled(child: Child, before: Counts): Promise<Counts> {
  const latest = performance.now() + 15_000;
  for (;;) {
    const now = await count(child);
    const isClean = now.open === 0 && now.held <= nodesOwn && now.Socket <= before.Socket + nodesOwn;
    if (isClean || performance.now() > latest) return now;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function requests(port: number, many: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let request = 0; request < many; request++) await ask(port, "/", agent);
  agent.destroy();
}

async function streams(port: number, many: number): Promise<void> {
  const session = connect(`http://127.0.0.1:${port}`).on("error", () => {});
  for (let stream = 0; stream < many; stream++) await once(session.request({ ":path": "/" }).resume(), "end");
  session.destroy();
}

async function webSocket(port: number): Promise<void> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`);
  await once(socket, "open");
  socket.close();
  await once(socket, "close");
}

/** A thousand connections and ten thousand requests, and a few of every other kind. */
async function load(child: Child): Promise<void> {
  const [http1 = 0, http2 = 0] = child.ports;
  for (let batch = 0; batch < 20; batch++)
    await Promise.all([
      ...Array.from({ length: 50 }, () => requests(http1, 10)),
      ...Array.from({ length: 5 }, () => streams(http2, 5)),
      webSocket(http1),
    ]);
}

test("after 10,000 requests and 1,000 connections nothing is held, nor after as many during the hold", async () => {
  const env = {
    ...inPod,
    LAMEDUCK_POLICY: "until-deadline",
    LAMEDUCK_GRACE_PERIOD: "5m",
    LAMEDUCK_FLOOR: "4m",
    LAMEDUCK_SIGNALS: "SIGTERM",
  };
  await using child = await startCounted([fixture("counted.ts")], env);
  await load(child);
  // The first load has loaded what Node loads lazily, and filled its pools.
  const before = await settled(child, await count(child));
  const check = async (when: string): Promise<void> => {
    const after = await settled(child, before);
    const text = `${when}: ${JSON.stringify({ before, after })}`;
    assert.equal(after.open, 0, text);
    assert.ok(after.held <= nodesOwn, text);
    for (const name of ["Socket", "IncomingMessage", "ServerResponse"] as const)
      assert.ok(after[name] <= before[name] + nodesOwn, text);
  };
  await check("after the first load");
  assert.ok(before.seen >= 21_000, `${before.seen}`);
  child.kill();
  await child.until("lame-duck");
  await load(child);
  await check("during the hold");
  child.kill("SIGINT");
  assert.equal((await child.exited).code, 0);
  assert.equal(child.event("closed")?.reason, "done");
});

test("what is taken back is not held by the process, its signals or its timers", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const make = (): WeakRef<object>[] => {
    const server = createServer();
    const duck = lameduck(server, { log: false, exit: false, environment: {} });
    const references = [new WeakRef<object>(server), new WeakRef<object>(duck)];
    duck.detach();
    return references;
  };
  const held = make();
  const latest = performance.now() + 10_000;
  while (held.some((reference) => reference.deref()) && performance.now() < latest) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    collect();
  }
  assert.deepEqual(
    held.map((reference) => reference.deref() === undefined),
    [true, true],
  );
});
