import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { openRoute, parseRoutes, RouteLoad } from "../src/index.ts";
import { runClock } from "@lameduck/accounting";
import { childrenOf } from "./processes.ts";
import { until } from "./servers.ts";

const answer = (response: ServerResponse): unknown => response.end("hello\n");

async function serve(t: TestContext, headers: Record<string, string>, take = answer): Promise<string> {
  const server = createServer((_, response) => take(response.writeHead(200, headers)));
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
    // Longer than a busy machine may need: a request that is given up would end otherwise than its server lets it.
    timeout: 60_000,
    maxDuration: 20_000,
    maxRequests,
    seed: 7,
  });
  t.after(() => started.close());
  return started;
}

test("each route has its share of the load, and each request a number and a connection of its own", async (t) => {
  const first = await serve(t, { "x-lameduck-pod": "web-1" });
  const second = await serve(t, { "x-upstream-addr": "10.1.0.9:8080, 10.1.0.2:8080" });
  const running = await load(t, [`one=${first}`, `two=${second}`], 80);
  await running.begin();
  await until(() => running.counts().sent >= 80, "80 requests");
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

test("a load that is stopped waits for the requests that it began, and then ends", async (t) => {
  const held: ServerResponse[] = [];
  let take = answer;
  const running = await load(t, [await serve(t, {}, (response) => take(response))], 10_000);
  take = (response) => held.push(response);
  await running.begin();
  await until(() => held.length >= 10, "10 requests");
  const end = running.stop();
  take = answer;
  held.forEach(answer);
  const { records } = await end;
  // What was due on a busy machine and not begun is given up.
  const begun = records.filter(({ outcome }) => outcome !== "not-sent");
  assert.ok(begun.length >= 10 && records.length < 10_000, `${begun.length} of ${records.length}`);
  assert.ok(begun.every(({ finished, outcome }) => finished !== undefined && outcome === "ok"));
});

test("a generator that is killed loses only the records of its last seconds", async (t) => {
  // More than each is sent before its generator reports records for the first time.
  const first = 600;
  const held: ServerResponse[][] = [[], []];
  let holds = true;
  const urls = held.map((own) => {
    // Before the load a request asks whether the URL answers.
    let asked = -1;
    return serve(t, {}, (response) => (holds && ++asked > first ? own.push(response) : answer(response)));
  });
  const [one, two] = await Promise.all(urls);
  const running = await load(t, [`one=${one}`, `two=${two}`], 2_000);
  await running.begin();
  await until(() => held.every((own) => own.length >= 20), "requests that wait");
  // Progress that counts these answers counts the requests that wait as well, and their records cannot come.
  for (const [response] of held) if (response) answer(response);
  await until(() => running.counts().sent === 2 * (first + 1), "what the generators say of it");
  const [victim] = childrenOf(process.pid).filter(({ command }) => command.includes("generator-process"));
  if (!victim) return t.skip("needs /proc");
  process.kill(victim.pid, "SIGKILL");
  await assert.rejects(running.failed, { code: "LAMEDUCK_GENERATOR_DIED" });
  holds = false;
  held.flat().forEach(answer);
  const { records, missing, notes } = await running.stop();
  const by = (name: string): number => records.filter(({ sender }) => sender === name).length;
  assert.ok(by("one") > 100 && by("two") > 100, `${by("one")} and ${by("two")}`);
  assert.ok(missing >= 19, `what it had not told is counted: ${missing}`);
  assert.match(notes.join(), /ended with SIGKILL/);
});

test("the bound on requests is kept for all routes together where it cannot be shared evenly", async (t) => {
  const url = await serve(t, { "x-lameduck-pod": "web-1" });
  const running = await load(t, [`one=${url}`, `two=${url}`, `three=${url}`], 5);
  await running.begin();
  await until(() => running.counts().sent >= 5, "5 requests");
  const { records } = await running.stop();
  const sent = (sender: string): number => records.filter((record) => record.sender === sender).length;
  assert.deepEqual([sent("one"), sent("two"), sent("three")], [2, 2, 1]);
});
