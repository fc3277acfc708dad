import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnSync } from "node:child_process";
import type { Socket } from "node:net";
import { describe, test, type TestContext } from "node:test";

import type { RequestRecord } from "@lameduck/accounting";
import { LoadError, type LoadOptions, type SenderSpec } from "@lameduck/load";
import { outcomes, rig, type Rig } from "./load-helpers.ts";
import { answerOk, serve, until } from "../../load/test/servers.ts";
import { childrenOf } from "../../load/test/processes.ts";

type Kind = "l7" | "haproxy" | "nginx";
const installed = (binary: string, option: string): boolean =>
  spawnSync(binary, [option], { env: { PATH: `${process.env["PATH"]}:/usr/sbin` } }).status === 0;
const kinds: readonly (readonly [Kind, false | string])[] = [
  ["l7", false],
  ["haproxy", !installed("haproxy", "-v") && "HAProxy is not installed"],
  ["nginx", !installed("nginx", "-v") && "nginx is not installed"],
];

/** Nobody listens on tcpmux. A port that has just been closed may be another test's by now. */
const refusing = 1;

async function behind(
  t: TestContext,
  spec: Partial<SenderSpec> & { kind: Kind },
  load: Partial<LoadOptions> = {},
): Promise<Rig> {
  return rig(t, {
    senders: [{ name: "ingress-1", ...spec }],
    load: { rate: 100, maxRequests: 40, ...load },
  });
}

async function finish({ fleet }: Rig, count = 40): Promise<readonly RequestRecord[]> {
  await until(() => fleet.progress().finished >= count, `${count} requests`);
  return (await fleet.stop()).records;
}

async function through(
  t: TestContext,
  spec: Partial<SenderSpec> & { kind: Kind },
  behave: (socket: Socket) => void,
  load: Partial<LoadOptions> = {},
): Promise<readonly RequestRecord[]> {
  const { port } = await serve(t, behave);
  const started = await behind(t, spec, load);
  started.fleet.ready({ pod: "web-1", address: "127.0.0.1", port }, started.clock.now());
  await started.event((event) => event.type === "added" && event.pod === "web-1");
  await started.fleet.begin();
  return finish(started);
}

describe("proxies", { concurrency: 2 }, () => {
  for (const [kind, skip] of kinds) {
    test(`the proxy ${kind} brings requests to pods and tells which`, { skip }, async (t) => {
      const records = await through(t, { kind, address: "127.0.0.1" }, answerOk, {
        expect: { quick: { text: "ok\n" } },
      });
      assert.deepEqual(outcomes(records), { ok: 40 });
      assert.ok(records.every((record) => record.pod === "web-1" && record.podKnownBy === "proxy"));
    });

    test(
      `the proxy ${kind} without an endpoint answers 503, before the first and after the last`,
      { skip },
      async (t) => {
        const { port } = await serve(t, answerOk);
        const started = await behind(t, { kind });
        const { fleet, clock, event } = started;
        fleet.ready({ pod: "web-1", address: "127.0.0.1", port }, clock.now());
        await event((seen) => seen.type === "filled");
        fleet.terminating("web-1", clock.now());
        await event((seen) => seen.type === "empty");
        await event((seen) => seen.type === "converged" && seen.pod === "web-1");
        await fleet.begin();
        const records = await finish(started);
        assert.deepEqual(outcomes(records), { "bad-status": 40 });
        assert.ok(records.every((record) => record.status === 503 && record.pod === undefined));
        assert.ok(records.every((record) => record.error === "NO_ENDPOINT"));
      },
    );

    test(`the proxy ${kind} answers for a pod that refuses, and names the pod`, { skip }, async (t) => {
      const started = await behind(t, { kind, retries: 0 });
      started.fleet.ready({ pod: "web-1", address: "127.0.0.1", port: refusing }, started.clock.now());
      await started.event((event) => event.type === "filled");
      await started.fleet.begin();
      const records = await finish(started);
      assert.deepEqual(outcomes(records), { "bad-status": 40 });
      // HAProxy says 503 where others say 502. nginx takes a pod that failed out for 10 s, but not the only one.
      const status = kind === "haproxy" ? 503 : 502;
      for (const record of records)
        assert.deepEqual([record.status, record.pod, record.error], [status, "web-1", "ECONNREFUSED"]);
    });

    test(`the proxy ${kind} answers 502 for a pod that resets`, { skip }, async (t) => {
      const records = await through(t, { kind, retries: 0 }, (socket) =>
        socket.on("data", () => socket.resetAndDestroy()),
      );
      for (const record of records) {
        assert.equal(record.endedBySender, undefined);
        // A caller's reused connection HAProxy closes instead, without an answer and without a word in its log.
        if (kind === "haproxy" && record.reused && record.outcome === "reset-before-response") continue;
        assert.deepEqual([record.status, record.pod, record.podKnownBy], [502, "web-1", "proxy"]);
        assert.equal(record.error, "ECONNRESET");
      }
    });

    test(`the proxy ${kind} answers 504 for a pod that does not answer in time`, { skip }, async (t) => {
      const records = await through(t, { kind, retries: 0, timeout: "200ms" }, () => undefined);
      assert.deepEqual(outcomes(records), { "bad-status": 40 });
      for (const record of records)
        assert.deepEqual([record.status, record.pod, record.error], [504, "web-1", "ETIMEDOUT"]);
    });

    test(`the proxy ${kind} passes on that an answer broke off`, { skip }, async (t) => {
      const records = await through(t, { kind, retries: 0 }, (socket) =>
        socket.on("data", () => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nhalf")),
      );
      assert.deepEqual(outcomes(records), { truncated: 40 });
      assert.ok(records.every((record) => record.pod === "web-1" && !record.endedBySender));
    });

    test(`the proxy ${kind} tries another pod when one refuses, and says so`, { skip }, async (t) => {
      const alive = await serve(t, answerOk);
      const started = await behind(t, { kind, retries: 3 });
      const { fleet, clock, event } = started;
      fleet.ready({ pod: "web-1", address: "127.0.0.1", port: refusing }, clock.now());
      await event((seen) => seen.type === "added" && seen.pod === "web-1");
      fleet.ready({ pod: "web-2", address: "127.0.0.1", port: alive.port }, clock.now());
      await event((seen) => seen.type === "added" && seen.pod === "web-2");
      await fleet.begin();
      const records = await finish(started);
      assert.deepEqual(outcomes(records), { ok: 40 });
      assert.ok(records.every((record) => record.pod === "web-2"));
      if (kind !== "nginx") assert.ok(records.some((record) => (record.retries ?? 0) > 0));
    });
  }
});

// One at a time: it looks at all processes and temporary files of this one.
for (const [kind, skip] of kinds) {
  test(
    `the proxy ${kind} leaves nothing behind when the run is aborted`,
    { skip: skip || (process.platform !== "linux" && "needs /proc") },
    async (t) => {
      const abort = new AbortController();
      // A directory of its own for temporary files: others use the common one at the same time.
      const directory = mkdtempSync(join(tmpdir(), "lameduck-test-"));
      const { TMPDIR } = process.env;
      process.env["TMPDIR"] = directory;
      t.after(() => {
        if (TMPDIR === undefined) delete process.env["TMPDIR"];
        else process.env["TMPDIR"] = TMPDIR;
        rmSync(directory, { recursive: true });
      });
      const started = await rig(t, {
        senders: [
          { name: "ingress-1", kind },
          { name: "node-1", kind: "l4" },
        ],
        load: { rate: 100 },
        signal: abort.signal,
      });
      const children = childrenOf(process.pid).map((child) => child.pid);
      assert.ok(children.length >= (kind === "l7" ? 2 : 3), "a generator, a host and what it started");
      await started.fleet.begin();
      const stopping = started.fleet.stop();
      abort.abort(new Error("enough"));
      await assert.rejects(stopping, /enough/);
      await until(() => !childrenOf(process.pid).some((child) => children.includes(child.pid)), "their end");
      assert.deepEqual(readdirSync(directory), []);
    },
  );
}

test("a proxy that is not installed is an error with a code, and leaves nothing behind", async (t) => {
  await assert.rejects(
    rig(t, { senders: [{ name: "ingress-1", kind: "haproxy", binary: "no-such-haproxy" }] }),
    (error) => error instanceof LoadError && error.code === "LAMEDUCK_SENDER_BINARY_MISSING",
  );
});

test("a proxy that dies is a failure of the run, with its own words", { skip: kinds[1]?.[1] }, async (t) => {
  const failures: LoadError[] = [];
  const { fleet } = await rig(t, {
    senders: [{ name: "ingress-1", kind: "haproxy" }],
    onFailure: (error) => failures.push(error),
  });
  const haproxy = childrenOf(process.pid).find((child) => /haproxy -db/.test(child.command));
  assert.ok(haproxy);
  await fleet.begin();
  process.kill(haproxy.pid, "SIGKILL");
  const failure = await until(() => failures[0], "the failure");
  assert.equal(failure.code, "LAMEDUCK_SENDER_FAILED");
  await assert.rejects(fleet.stop(), failure);
});

test("the losses of nginx' reloads are charged to nginx", { skip: kinds[2]?.[1] }, async (t) => {
  const { port } = await serve(t, answerOk);
  const started = await behind(t, { kind: "nginx" }, { rate: 500, maxRequests: 8_000, pooledShare: 0.5 });
  const { fleet, clock, events, event } = started;
  fleet.ready({ pod: "web-1", address: "127.0.0.1", port }, clock.now());
  await event((seen) => seen.type === "filled");
  await fleet.begin();
  for (let pod = 2; pod < 8; pod++) {
    fleet.ready({ pod: `web-${pod}`, address: "127.0.0.1", port }, clock.now());
    await event((seen) => seen.type === "added" && seen.pod === `web-${pod}`);
  }
  const { records } = await fleet.stop();
  assert.ok(events.filter((seen) => seen.type === "reloaded").length >= 6);
  // On a busy machine the generator itself may be late; that is not nginx' fault.
  const lost = records.filter((record) => record.outcome !== "ok" && record.outcome !== "not-sent");
  t.diagnostic(`${lost.length} of ${records.length} requests lost in 6 reloads`);
  assert.ok(lost.every((record) => record.endedBySender));
});
