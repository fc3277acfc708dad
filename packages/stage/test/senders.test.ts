import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { describe, test, type TestContext } from "node:test";

import { LoadError, type SenderSpec, propagationOf } from "@lameduck/load";
import { startFleet } from "../src/index.ts";
import { runClock, type RequestRecord } from "@lameduck/accounting";
import { outcomes, rig, sentOf, type Rig } from "./load-helpers.ts";
import { answerOk, serve, until } from "../../load/test/servers.ts";

/** A sender with two pods that both answer, after a while if that is said. */
async function twoPods(
  t: TestContext,
  spec: Omit<SenderSpec, "name"> & { kind: "l4" | "l4-cut" | "client" },
  pooledShare: number,
  afterMs = 0,
): Promise<Rig & { readonly pods: readonly Awaited<ReturnType<typeof serve>>[] }> {
  const answer = (socket: Socket): void => answerOk(socket, "", afterMs);
  const pods = [await serve(t, answer), await serve(t, answer)];
  const started = await rig(t, {
    senders: [{ name: "s", ...spec }],
    load: { rate: 400, pooledShare },
  });
  for (const [index, { port }] of pods.entries()) {
    const pod = `web-${index + 1}`;
    started.fleet.ready({ pod, address: "127.0.0.1", port }, started.clock.now());
    await started.event((event) => event.type === "added" && event.pod === pod);
  }
  await started.fleet.begin();
  await until(() => started.fleet.progress().finished > 100, "100 requests");
  return { ...started, pods };
}

/** When its sender chose for it: later than intended where the generator was late. */
const firedAt = ({ intended, late = 0 }: RequestRecord): number => intended + late;

describe("kinds of senders", { concurrency: 2 }, () => {
  test("the sender l4 leads new connections away from a withdrawn pod, and leaves established ones there", async (t) => {
    // With some 14 requests under way at a time, the pool has connections to both.
    const { fleet, clock, event } = await twoPods(t, { kind: "l4" }, 0.7, 50);
    fleet.terminating("web-1", clock.now());
    const { at } = await event((seen) => seen.type === "converged" && seen.pod === "web-1");
    // Those under way have chosen before.
    const { due } = fleet.progress();
    await until(() => fleet.progress().finished > due + 200, "200 more requests");
    const records = sentOf((await fleet.stop()).records);
    const later = records.filter((record) => firedAt(record) > at && record.pod === "web-1");
    assert.ok(
      later.some((record) => record.mode === "pooled"),
      "pooled connections to web-1 go on",
    );
    assert.ok(later.every((record) => record.reused));
    assert.deepEqual(outcomes(records), { ok: records.length });
    const chosen = new Set(records.filter((record) => record.mode === "new").map((record) => record.pod));
    assert.deepEqual(chosen, new Set(["web-1", "web-2"]));
  });

  test("the sender l4 uses serving terminating pods while none is ready, and not a moment longer", async (t) => {
    const { fleet, clock, event, events } = await twoPods(t, { kind: "l4" }, 0);
    fleet.terminating("web-1", clock.now());
    await event((seen) => seen.type === "converged" && seen.pod === "web-1");
    fleet.terminating("web-2", clock.now());
    await event((seen) => seen.type === "added" && seen.pod === "web-1" && events.indexOf(seen) > 3);
    assert.equal(
      events.some((seen) => seen.type === "empty"),
      false,
    );
    fleet.unready("web-1", clock.now());
    await until(
      () => events.filter((seen) => seen.type === "converged" && seen.pod === "web-1").length === 2,
      "its end",
    );
    fleet.gone("web-2", clock.now());
    await event((seen) => seen.type === "empty");
    const before = fleet.progress().lost;
    await until(() => fleet.progress().lost > before + 10, "requests without an endpoint");
    const records = sentOf((await fleet.stop()).records);
    const lost = records.filter((record) => record.outcome !== "ok");
    assert.ok(
      lost.every(
        (record) =>
          record.outcome === "refused" && record.error === "NO_ENDPOINT" && record.pod === undefined,
      ),
    );
  });

  test("the sender l4-cut severs established connections when it converges, and is charged with it", async (t) => {
    const pods = [await serve(t, () => undefined), await serve(t, answerOk)];
    const { fleet, clock, event } = await rig(t, {
      senders: [{ name: "s", kind: "l4-cut" }],
      load: { rate: 200 },
    });
    for (const [index, { port }] of pods.entries())
      fleet.ready({ pod: `web-${index + 1}`, address: "127.0.0.1", port }, clock.now());
    await event((seen) => seen.type === "added" && seen.pod === "web-2");
    await fleet.begin();
    await until(() => fleet.progress().inFlight > 5, "requests that web-1 does not answer");
    fleet.terminating("web-1", clock.now());
    const severed = await event((seen) => seen.type === "severed");
    assert.ok(severed.type === "severed" && severed.pod === "web-1" && severed.connections > 5);
    const records = sentOf((await fleet.stop()).records);
    const lost = records.filter((record) => record.outcome !== "ok");
    assert.equal(lost.length, severed.connections);
    for (const record of lost)
      assert.deepEqual(
        [record.outcome, record.pod, record.endedBySender],
        // What was still connecting was severed, too.
        [record.connected === undefined ? "refused" : "reset-before-response", "web-1", true],
      );
  });

  test("the sender client drops its connections to a withdrawn pod once they are idle", async (t) => {
    const { fleet, clock, event, pods } = await twoPods(t, { kind: "client" }, 1);
    assert.ok((pods[0]?.sockets.size ?? 0) > 0);
    fleet.terminating("web-1", clock.now());
    const { at } = await event((seen) => seen.type === "converged" && seen.pod === "web-1");
    await until(() => pods[0]?.sockets.size === 0, "the end of its connections");
    const records = sentOf((await fleet.stop()).records);
    assert.deepEqual(outcomes(records), { ok: records.length });
    assert.ok(records.every((record) => record.pod !== "web-1" || firedAt(record) <= at));
  });

  test("the sender health-checked ignores a deletion and leaves after threshold failed checks", async (t) => {
    let healthy = true;
    const checks: { readonly at: number; readonly passed: boolean }[] = [];
    const agents = new Set<string | undefined>();
    const app = createServer((request, response) => {
      const passed = request.url !== "/healthz" || healthy;
      if (request.url === "/healthz") {
        checks.push({ at: clock.now(), passed });
        agents.add(request.headers["user-agent"]);
      }
      response.writeHead(passed ? 200 : 503).end("ok\n");
    });
    await new Promise<void>((resolve) => {
      app.listen(0, "127.0.0.1", resolve);
    });
    t.after(() => {
      app.closeAllConnections();
      app.close();
    });
    const other = await serve(t, answerOk);
    // The sender's process has a clock of its own. The next check comes after 100 ms.
    const otherClockMs = 50;
    // Checks come one at a time and none times out, so that their number does not depend on how busy the machine is.
    const check = {
      path: "/healthz",
      interval: "100ms",
      timeout: "10s",
      unhealthyThreshold: 3,
      healthyThreshold: 2,
    };
    const { fleet, clock, event, events } = await rig(t, {
      senders: [{ name: "lb", kind: "health-checked", check }],
      load: { rate: 100 },
    });
    fleet.ready(
      { pod: "web-1", address: "127.0.0.1", port: (app.address() as AddressInfo).port },
      clock.now(),
    );
    const added = await event((seen) => seen.type === "added" && seen.pod === "web-1");
    assert.equal(
      checks.filter(({ at }) => at < added.at + otherClockMs).length,
      2,
      "two checks in a row let it in",
    );
    fleet.ready({ pod: "web-2", address: "127.0.0.1", port: other.port }, clock.now());
    await event((seen) => seen.type === "added" && seen.pod === "web-2");
    await fleet.begin();
    fleet.terminating("web-1", clock.now());
    const before = checks.length;
    await until(() => checks.length > before + 5, "five more checks");
    assert.equal(
      events.some((seen) => seen.type === "converged"),
      false,
      "the deletion alone moves nothing",
    );
    healthy = false;
    const left = await event((seen) => seen.type === "converged" && seen.pod === "web-1");
    const failed = checks.filter(({ at, passed }) => !passed && at < left.at + otherClockMs);
    assert.equal(failed.length, 3, "three failures in a row take it out");
    assert.deepEqual(agents, new Set(["ELB-HealthChecker/2.0"]));
    const records = sentOf((await fleet.stop()).records);
    assert.deepEqual(outcomes(records), { ok: records.length });
  });

  test("the sender health-checked sees a closed port by a TCP check, and uses an unhealthy target that is the only one", async (t) => {
    const first = await serve(t, answerOk);
    const second = await serve(t, answerOk);
    const check = { path: null, interval: "50ms", timeout: "10s", unhealthyThreshold: 2 };
    const { fleet, clock, event, events } = await rig(t, {
      senders: [{ name: "lb", kind: "health-checked", check }],
    });
    for (const [index, { port }] of [first, second].entries())
      fleet.ready({ pod: `web-${index + 1}`, address: "127.0.0.1", port }, clock.now());
    await event((seen) => seen.type === "added" && seen.pod === "web-2");
    await event((seen) => seen.type === "added" && seen.pod === "web-1");
    first.server.close();
    await event((seen) => seen.type === "converged" && seen.pod === "web-1");
    second.server.close();
    await until(
      () => events.filter((seen) => seen.type === "added" && seen.pod === "web-1").length === 2,
      "fail open",
    );
    assert.equal(
      events.some((seen) => seen.type === "empty"),
      false,
    );
  });
});

const refusals: readonly (readonly [string, Parameters<typeof rig>[1], LoadError["code"]])[] = [
  ["no sender", { senders: [] }, "LAMEDUCK_BAD_SENDER"],
  [
    "one name twice",
    {
      senders: [
        { name: "a", kind: "l4" },
        { name: "a", kind: "client" },
      ],
    },
    "LAMEDUCK_BAD_SENDER",
  ],
  ["an unknown kind", { senders: [{ name: "a", kind: "l8" as "l7" }] }, "LAMEDUCK_BAD_SENDER"],
  ["a strange name", { senders: [{ name: "a b", kind: "l4" }] }, "LAMEDUCK_BAD_SENDER"],
  [
    "a public source",
    { senders: [{ name: "a", kind: "l4", address: "192.0.2.1" }] },
    "LAMEDUCK_TARGET_NOT_LOCAL",
  ],
  ["a rate of nothing", { load: { rate: 0 } }, "LAMEDUCK_BAD_LOAD"],
  ["a rate that is no number", { load: { rate: Number.NaN } }, "LAMEDUCK_BAD_LOAD"],
  ["more than all", { load: { rate: 1, slowShare: 0.6, largeShare: 0.6 } }, "LAMEDUCK_BAD_LOAD"],
  [
    "a path that smuggles a header",
    { load: { rate: 1, paths: { quick: "/ HTTP/1.1\r\nX: y" } } },
    "LAMEDUCK_BAD_LOAD",
  ],
];
for (const [name, options, code] of refusals)
  test(`a run with ${name} is refused with ${code}`, async (t) => {
    await assert.rejects(rig(t, options), (error) => error instanceof LoadError && error.code === code);
  });

test("a load never goes to an address outside of this machine", async (t) => {
  const { fleet, clock } = await rig(t, {});
  for (const address of [
    "10.0.0.1",
    "192.168.1.1",
    "8.8.8.8",
    "169.254.169.254",
    "198.20.0.1",
    "::2",
    "localhost",
  ])
    assert.throws(
      () => fleet.ready({ pod: "web-1", address, port: 80 }, clock.now()),
      (error) => error instanceof LoadError && error.code === "LAMEDUCK_TARGET_NOT_LOCAL",
      address,
    );
});

test("an aborted signal starts nothing", async () => {
  await assert.rejects(
    startFleet({
      clock: runClock(),
      senders: [{ name: "s", kind: "l4" }],
      propagation: propagationOf("instant"),
      load: { rate: 1 },
      seed: 1,
      onEvent: () => undefined,
      signal: AbortSignal.abort(new Error("too late")),
    }),
    /too late/,
  );
});
