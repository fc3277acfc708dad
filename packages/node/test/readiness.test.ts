import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { lameduck, type LameduckOptions } from "../src/index.ts";
import { ask } from "./ask.ts";
import { Coordination, waiting } from "./coordination.ts";

/** What a route of the application that asks readiness() answers in each phase of a termination. */
async function statuses(options: LameduckOptions): Promise<Record<string, number>> {
  const server = createServer((_, response) => {
    const { status, phase, ready } = duck.readiness();
    assert.equal(ready, status === 200);
    response.writeHead(status).end(phase);
  });
  const duck = lameduck(server, { environment: {}, log: false, exit: false, signals: false, ...options });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const seen: Record<string, number> = {};
  const look = async (): Promise<void> => {
    const { status, body } = await ask(port);
    seen[body] = status;
  };
  await look();
  duck.hook("lame-duck", "look", look);
  await duck.terminate();
  seen[duck.phase] = duck.readiness().status;
  return seen;
}

test("an application's own readiness route is ready through the hold: endpoints move by the deletion", async () => {
  const seen = await statuses({ policy: "fixed", delay: "500ms" });
  assert.deepEqual(seen, { serving: 200, "lame-duck": 200, closed: 503 });
});

test("the readiness route fails from SIGTERM on where a load balancer learns by health checks, and the hold lasts until that is believed", async () => {
  const seen = await statuses({ policy: "fixed", delay: 0, lbHealth: { wait: "500ms" } });
  assert.deepEqual(seen, { serving: 200, "lame-duck": 503, closed: 503 });
});

test("the readiness route fails once the coordinator says that nobody deletes the pod", async () => {
  await using coordination = await Coordination.start(waiting);
  const said: string[] = [];
  const server = createServer((_, response) => response.end());
  const environment = { ...coordination.environment, KUBERNETES_SERVICE_HOST: "198.18.0.1" };
  const log = { info: () => undefined, warn: (...told: unknown[]) => void said.push(JSON.stringify(told)) };
  const options = { environment, log, exit: false, signals: false, policy: "fixed", delay: "20s" } as const;
  const duck = lameduck(server, options);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const ending = duck.terminate();
  const is = async (status: number): Promise<void> => {
    while (duck.readiness().status !== status) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  while (!coordination.asked.some((url) => url.includes("seen=waiting")))
    await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal(duck.readiness().status, 200);
  coordination.say(`${waiting}deleted: no\n`);
  await is(503);
  assert.equal(duck.phase, "lame-duck");
  assert.equal(said.filter((line) => line.includes("nobody deletes this pod")).length, 1, said.join());
  // Its deletion has come after all.
  coordination.say(waiting);
  await is(200);
  coordination.say(`${waiting}end: now\n`);
  await ending;
});
