import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { openRoute, parseRoutes } from "../src/routes/route.ts";
import { RouteLoad } from "../src/routes/route-load.ts";
import { runClock } from "@lameduck/accounting";
import { childrenOf } from "./processes.ts";

async function serve(t: TestContext, headers: Record<string, string>): Promise<string> {
  const server = createServer((_, response) => response.writeHead(200, headers).end("hello\n"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/x?y=1`;
}

async function load(t: TestContext, urls: readonly string[], maxRequests: number): Promise<RouteLoad> {
  const started = await RouteLoad.start({
    clock: runClock(),
    routes: await Promise.all(parseRoutes(urls).map((route) => openRoute(route))),
    rate: 400,
    pooledShare: 0.5,
    timeout: 2_000,
    maxDuration: 20_000,
    maxRequests,
    seed: 7,
  });
  t.after(() => started.close());
  return started;
}

test("every route has its share, and every request a number and a connection of its own", async (t) => {
  const first = await serve(t, { "x-lameduck-pod": "web-1" });
  const second = await serve(t, { "x-upstream-addr": "10.1.0.9:8080, 10.1.0.2:8080" });
  const running = await load(t, [`one=${first}`, `two=${second}`], 80);
  await running.begin();
  const over = Date.now() + 20_000;
  while (running.counts().sent < 80 && Date.now() < over) await delay(20);
  const { records, missing } = await running.stop();
  assert.equal(records.length, 80, "no more than were allowed");
  assert.equal(missing, 0);
  assert.deepEqual(
    records.map(({ id }) => id),
    records.map((_, index) => index),
  );
  const connections = Map.groupBy(records, ({ connection }) => connection);
  for (const own of connections.values()) assert.equal(new Set(own.map(({ sender }) => sender)).size, 1);
  const reported = (sender: string): string[] => {
    const own = records.filter((record) => record.sender === sender);
    return [...new Set(own.map(({ pod, podKnownBy, outcome }) => `${pod} ${podKnownBy} ${outcome}`))];
  };
  assert.deepEqual(reported("one"), ["web-1 header ok"]);
  // The last that a proxy tried is the one that answered; the join translates it.
  assert.deepEqual(reported("two"), ["10.1.0.2 header ok"]);
  assert.equal(records.filter(({ sender }) => sender === "one").length, 40);
});

test("what it began to send it sees to its end, and then leaves", async (t) => {
  const running = await load(t, [await serve(t, {})], 10_000);
  await running.begin();
  const over = Date.now() + 20_000;
  while (running.counts().sent < 10 && Date.now() < over) await delay(10);
  const { records } = await running.stop();
  assert.ok(records.length >= 10 && records.length < 10_000, String(records.length));
  assert.ok(records.every(({ finished, outcome }) => finished !== undefined && outcome === "ok"));
});

test("a generator that is killed takes no more with it than its last seconds", async (t) => {
  const running = await load(t, [`one=${await serve(t, {})}`, `two=${await serve(t, {})}`], 100_000);
  await running.begin();
  const over = Date.now() + 20_000;
  while (running.counts().sent < 1_600 && Date.now() < over) await delay(20);
  const [first] = childrenOf(process.pid).filter(({ command }) => command.includes("generator-process"));
  if (!first) return t.skip("needs /proc");
  process.kill(first.pid, "SIGKILL");
  await assert.rejects(running.failed, { code: "LAMEDUCK_GENERATOR_DIED" });
  const { records, missing, notes } = await running.stop();
  const by = (name: string): number => records.filter(({ sender }) => sender === name).length;
  assert.ok(by("one") > 100 && by("two") > 100, `${by("one")} and ${by("two")}`);
  assert.ok(missing > 0, "what it had not told is counted");
  assert.match(notes.join(), /ended with SIGKILL/);
});

test("the bound of all routes together is kept where it cannot be shared evenly", async (t) => {
  const url = await serve(t, { "x-lameduck-pod": "web-1" });
  const running = await load(t, [`one=${url}`, `two=${url}`, `three=${url}`], 5);
  await running.begin();
  const over = Date.now() + 20_000;
  while (running.counts().sent < 5 && Date.now() < over) await delay(20);
  const { records } = await running.stop();
  const sent = (sender: string): number => records.filter((record) => record.sender === sender).length;
  assert.deepEqual([sent("one"), sent("two"), sent("three")], [2, 2, 1]);
});
