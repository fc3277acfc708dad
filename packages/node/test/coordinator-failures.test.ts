import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type LookupFunction } from "node:net";
import { describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Requests } from "../src/coordinator/request.ts";
import { startServer, type Child } from "./child.ts";
import {
  answerOf,
  Coordination,
  notices,
  ofPod,
  released,
  short,
  terminated,
  waiting,
} from "./coordination.ts";
import { Balancer } from "./network.ts";

/** Acknowledged, and nothing is sent: its own evidence would end the hold as soon as the coordinator counts as silent. */
async function releasedLate(
  environment: Record<string, string>,
  failing: (child: Child) => Promise<Coordination>,
) {
  const child = await startServer(
    {},
    { ...environment, ...short, LAMEDUCK_FLOOR: "50ms", LAMEDUCK_GRACE_PERIOD: "60s" },
  );
  child.kill();
  const answering = await failing(child);
  await pause(1_500);
  assert.equal(child.event("closing"), undefined);
  answering.say(released);
  await child.exited;
  assert.equal(child.event("closing")?.reason, "acknowledged");
  assert.deepEqual(notices(child), []);
}

// They mostly wait.
describe("where the coordinator fails", { concurrency: 4 }, () => {
  test("a coordinator that fails twice in a moment is asked a third time", async () => {
    await using coordination = await Coordination.start(waiting);
    await releasedLate(coordination.environment, async (child) => {
      await child.until(() => coordination.asked.length > 1);
      let failures = 0;
      coordination.say((response) => {
        if (++failures <= 2) response.socket?.resetAndDestroy();
        else {
          response.end(waiting);
          coordination.say(waiting);
        }
      });
      await child.until(() => failures > 2);
      return coordination;
    });
  });

  test("one of two coordinators is killed in the hold, and its Service leads to it for a moment longer", async () => {
    const first = await Coordination.start(waiting);
    await using second = await Coordination.start(waiting);
    const service = await new Balancer(first.port).listen();
    await releasedLate(
      { ...ofPod, LAMEDUCK_COORDINATOR: `http://127.0.0.1:${service.port}` },
      async (child) => {
        await child.until(() => first.asked.length > 1);
        await first[Symbol.asyncDispose]();
        await pause(100);
        service.target = second.port;
        return second;
      },
    );
    assert.notDeepEqual(second.asked, []);
    await service.close();
  });

  test("a coordinator that knows nothing of the pod is asked again at once: another one may", async () => {
    await using coordination = await Coordination.start(waiting);
    await releasedLate(coordination.environment, async (child) => {
      await child.until(() => coordination.asked.length > 1);
      let failures = 0;
      coordination.say((response) => {
        if (++failures <= 2) response.end(answerOf("unknown", { behind: "endpointslices" }));
        else {
          response.end(waiting);
          coordination.say(waiting);
        }
      });
      await child.until(() => failures > 2);
      return coordination;
    });
  });

  test("a coordinator that goes on knowing nothing leaves the pod to its own evidence, and one line says why", async () => {
    const why = { behind: "endpointslices (not heard of for 17 s)" };
    await using coordination = await Coordination.start((response) => response.end(answerOf("unknown", why)));
    const child = await terminated({ ...coordination.environment, ...short });
    await child.exited;
    assert.equal(child.event("closing")?.reason, "quiet");
    assert.match(notices(child).join("\n"), /^[^\n]*not heard of for 17 s[^\n]*own evidence decides$/);
  });

  test("after a failure the next address of the name is asked", async () => {
    await using coordination = await Coordination.start(waiting);
    const { port } = coordination;
    const place = { host: "coordinator", port, path: "/v1/pods/shop/web-1?uid=5b0c", tokenFile: undefined };
    const resolve = (_host: string, _options: object, callback: (...result: unknown[]) => void): void => {
      const addresses = ["127.0.0.2", "127.0.0.1"].map((address) => ({ address, family: 4 }));
      callback(null, addresses);
    };
    const resets = createServer((socket) => void socket.on("data", () => socket.resetAndDestroy())).listen(
      port,
      "127.0.0.2",
    );
    resets.unref();
    await once(resets, "listening");
    const requests = new Requests(place, new AbortController().signal, resolve as unknown as LookupFunction);
    await assert.rejects(requests.send("&wait=0", undefined, 1_000));
    assert.equal(await requests.send("&wait=0", undefined, 1_000), waiting);
  });

  test("a coordinator that dies after the release takes nothing back", async () => {
    await using coordination = await Coordination.start(answerOf("released", { "released-ms": "0" }));
    const settles = { options: { floor: "50ms", settle: "2s" } };
    const child = await terminated(coordination.environment, settles);
    await child.until(() => coordination.asked.some((url) => url.includes("seen=released")));
    coordination.say((response) => void response.socket?.destroy());
    await child.exited;
    assert.equal(child.event("closing")?.reason, "acknowledged");
  });

  for (const [what, then, reason] of [
    ["another coordinator that is behind takes nothing back", { "withdrawn-ms": "100" }, "acknowledged"],
    ["a pod that is published again is released no more", {}, "cap"],
  ] as const)
    test(`after a release ${what}`, async () => {
      await using coordination = await Coordination.start(released);
      const settles = { options: { floor: "50ms", settle: "3s" } };
      const child = await terminated({ ...coordination.environment, ...short }, settles);
      await child.until(() => coordination.asked.some((url) => url.includes("seen=released")));
      coordination.say(answerOf("waiting", { consumers: "4/5", ...then }));
      await child.exited;
      assert.equal(child.event("closing")?.reason, reason);
    });

  test("a question and what the pod says are sent at the same time, also where its name takes a while", async () => {
    await using coordination = await Coordination.start(waiting);
    const { port } = coordination;
    let lookups = 0;
    const resolve = (_host: string, _options: object, callback: (...result: unknown[]) => void): void => {
      lookups++;
      setTimeout(() => callback(null, [{ address: "127.0.0.1", family: 4 }]), 200);
    };
    const place = { host: "coordinator", port, path: "/v1/pods/shop/web-1?uid=5b0c", tokenFile: undefined };
    const requests = new Requests(place, new AbortController().signal, resolve as unknown as LookupFunction);
    const answers = await Promise.all([
      requests.send("&wait=0", undefined, 1_000),
      requests.send("", "phase: closing\n", 1_000),
    ]);
    assert.deepEqual(answers, [waiting, "lameduck 1\n"]);
    assert.equal(lookups, 1);
  });
});
