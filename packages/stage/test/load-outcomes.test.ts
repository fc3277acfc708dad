import assert from "node:assert/strict";
import { execFileSync, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { type Socket } from "node:net";
import { describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";

import type { RequestRecord } from "@lameduck/accounting";
import type { LoadOptions, SenderSpec } from "@lameduck/load";
import { childrenOf } from "../../load/test/processes.ts";
import { outcomes, rig } from "./load-helpers.ts";
import { without } from "../../../scripts/programs.ts";
import { answerOk, serve, until } from "../../load/test/servers.ts";

/** Sends `count` requests or more to one port and returns what became of them. */
async function load(
  t: TestContext,
  port: number,
  options: Partial<LoadOptions> = {},
  sender: Partial<SenderSpec> = {},
): Promise<readonly RequestRecord[]> {
  const { fleet, clock, event } = await rig(t, {
    senders: [{ name: "s", kind: "l4", ...sender }],
    load: { rate: 100, timeout: "5s", maxRequests: 30, ...options },
  });
  fleet.ready({ pod: "web-1", address: "127.0.0.1", port }, clock.now());
  await event((seen) => seen.type === "filled");
  await fleet.begin();
  await until(() => fleet.progress().finished >= (options.maxRequests ?? 30), "the requests");
  const { records } = await fleet.stop();
  return records;
}

describe("outcomes", { concurrency: 2 }, () => {
  test("a request to a closed port is refused", async (t) => {
    const { port, server } = await serve(t, answerOk);
    server.close();
    await once(server, "close");
    const records = await load(t, port);
    assert.deepEqual(outcomes(records), { refused: 30 });
    assert.ok(records.every((record) => record.error === "ECONNREFUSED" && record.sent === undefined));
    assert.ok(records.every((record) => record.pod === "web-1" && record.received === 0));
  });

  test("a connection that is reset before the answer's first byte is a reset before the response", async (t) => {
    const { port } = await serve(t, (socket) => socket.on("data", () => socket.resetAndDestroy()));
    const records = await load(t, port);
    assert.deepEqual(outcomes(records), { "reset-before-response": 30 });
    assert.ok(records.every((record) => record.error === "ECONNRESET" && record.sent !== undefined));
  });

  test("a connection that ends in order before the answer's first byte is no answer, either", async (t) => {
    const { port } = await serve(t, (socket) => socket.on("data", () => socket.end()));
    const records = await load(t, port);
    assert.deepEqual(outcomes(records), { "reset-before-response": 30 });
    assert.ok(records.every((record) => record.error === "EOF"));
  });

  const cuts: readonly (readonly [string, (socket: Socket) => void])[] = [
    [
      "reset in the middle of the head",
      (socket) => socket.write("HTTP/1.1 200 OK\r\nConte", () => socket.resetAndDestroy()),
    ],
    [
      "ended in the middle of the body",
      (socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"),
    ],
    [
      "ended in the middle of a chunk",
      (socket) => socket.end("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf"),
    ],
  ];
  for (const [name, cut] of cuts)
    test(`an answer that is ${name} is truncated`, async (t) => {
      const { port } = await serve(t, (socket) => socket.on("data", () => cut(socket)));
      const records = await load(t, port);
      assert.deepEqual(outcomes(records), { truncated: 30 });
      assert.ok(records.every((record) => record.received > 0));
    });

  test("a request whose answer never comes is a time-out, and its latency counts from the intended time", async (t) => {
    const { port } = await serve(t, () => undefined);
    const records = await load(t, port, { timeout: "300ms" });
    assert.deepEqual(outcomes(records), { timeout: 30 });
    assert.ok(records.every((record) => (record.finished ?? 0) - record.intended >= 300));
  });

  test("a server with a full accept queue is unreachable", async (t) => {
    const listener = fork(fileURLToPath(new URL("./fixtures/tiny-backlog.ts", import.meta.url)));
    t.after(() => listener.kill("SIGKILL"));
    const [port] = (await once(listener, "message")) as [number];
    // A stopped process accepts nothing; the kernel goes on only until its queue is full.
    process.kill(listener.pid as number, "SIGSTOP");
    const records = await load(t, port, { timeout: "600ms", pooledShare: 0 });
    const { timeout = 0, unreachable = 0 } = outcomes(records);
    assert.equal(timeout + unreachable, 30);
    assert.ok(unreachable > 20 && timeout > 0, JSON.stringify(outcomes(records)));
    for (const record of records)
      assert.equal(record.connected === undefined, record.outcome === "unreachable");
  });

  test("a 5xx is a bad status, unless the app means it", async (t) => {
    const { port } = await serve(t, (socket) =>
      socket.on("data", () =>
        socket.end("HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
      ),
    );
    const lost = await load(t, port);
    assert.deepEqual(outcomes(lost), { "bad-status": 30 });
    assert.ok(lost.every((record) => record.status === 503));
    assert.deepEqual(outcomes(await load(t, port, { meantStatuses: [503] })), { ok: 30 });
  });

  test(
    "a load that is aborted does not wait for requests that nobody answers",
    { timeout: 60_000 },
    async (t) => {
      const { port } = await serve(t, () => undefined);
      const { fleet, clock, event } = await rig(t, { load: { rate: 200, timeout: "10m" } });
      fleet.ready({ pod: "web-1", address: "127.0.0.1", port }, clock.now());
      await event((seen) => seen.type === "filled");
      await fleet.begin();
      await until(() => fleet.progress().inFlight > 20, "requests under way");
      const { records } = await fleet.stop(true);
      assert.deepEqual(records, []);
    },
  );

  test("a complete answer with another body is a wrong body", async (t) => {
    const { port } = await serve(t, answerOk);
    assert.deepEqual(outcomes(await load(t, port, { expect: { quick: { text: "ko\n" } } })), {
      "wrong-body": 30,
    });
    assert.deepEqual(outcomes(await load(t, port, { expect: { quick: { bytes: 4 } } })), {
      "wrong-body": 30,
    });
    assert.deepEqual(outcomes(await load(t, port, { expect: { quick: { bytes: 3, text: "ok\n" } } })), {
      ok: 30,
    });
  });

  test("a server that speaks another protocol gives a wrong answer", async (t) => {
    const { port } = await serve(t, (socket) => socket.write("SSH-2.0-test\r\n"));
    const records = await load(t, port, { pooledShare: 0 });
    assert.ok(
      records.every(
        (record) => record.outcome === "wrong-body" || record.outcome === "reset-before-response",
      ),
    );
  });

  test("a request from a source address that this machine does not have is not sent, and no pod is to blame", async (t) => {
    const { port } = await serve(t, answerOk);
    const records = await load(t, port, {}, { address: "198.18.200.200" });
    assert.deepEqual(outcomes(records), { "not-sent": 30 });
    assert.ok(records.every((record) => record.error === "EADDRNOTAVAIL"));
  });
});

const linux = process.platform === "linux";

/** The generator's process of this test's fleet. */
function generatorPid(): number {
  const generator = childrenOf(process.pid).find((child) => child.command.includes("generator-process"));
  if (!generator) throw new Error("no generator runs");
  return generator.pid;
}

test(
  "a generator that stands still sends late requests late, and counts the last ones",
  { skip: !linux && "needs /proc" },
  async (t) => {
    const { port } = await serve(t, answerOk);
    const { fleet, clock, event } = await rig(t, { load: { rate: 1_000, arrivals: "fixed" } });
    fleet.ready({ pod: "web-1", address: "127.0.0.1", port }, clock.now());
    await event((seen) => seen.type === "filled");
    const began = await fleet.begin();
    const standStill = async (afterwards: () => void): Promise<void> => {
      const pid = generatorPid();
      process.kill(pid, "SIGSTOP");
      const since = clock.now();
      await until(() => clock.now() > since + 500, "half a second");
      afterwards();
      process.kill(pid, "SIGCONT");
    };
    await standStill(() => undefined);
    await until(() => fleet.progress().finished > 700, "the backlog");
    let stopping: ReturnType<typeof fleet.stop> | undefined;
    await standStill(() => {
      stopping = fleet.stop();
    });
    assert.ok(stopping);
    const { records } = await stopping;
    assert.equal(records.length, fleet.progress().due);
    for (const [index, { intended }] of records.entries())
      assert.ok(Math.abs(intended - began - index) < 0.001);
    assert.ok(records.some(({ late = 0 }) => late >= 400));
    const late = records.filter((record) => record.outcome === "not-sent");
    assert.ok(late.length > 100, `${late.length} were not sent`);
    assert.ok(late.every((record) => record.error === "LATE" && record.sent === undefined));
    assert.ok(records.slice(0, 500).every((record) => record.outcome === "ok"));
  },
);

test(
  "a request for which a stalled generator chose by old news is marked as late, as it is no sender's fault",
  { skip: !linux && "needs /proc" },
  async (t) => {
    const [gone, stays] = [await serve(t, answerOk), await serve(t, answerOk)];
    const { fleet, clock, event } = await rig(t, { load: { rate: 500 } });
    for (const [pod, { port }] of [["web-1", gone] as const, ["web-2", stays] as const]) {
      fleet.ready({ pod, address: "127.0.0.1", port }, clock.now());
      await event((seen) => seen.type === "added" && seen.pod === pod);
    }
    await fleet.begin();
    await until(() => fleet.progress().finished > 100, "requests");
    const pid = generatorPid();
    process.kill(pid, "SIGSTOP");
    const since = clock.now();
    fleet.terminating("web-1", since);
    gone.server.close();
    for (const socket of gone.sockets) socket.destroy();
    await until(() => clock.now() > since + 400, "a stall");
    process.kill(pid, "SIGCONT");
    await event((seen) => seen.type === "converged");
    const before = fleet.progress().finished;
    await until(() => fleet.progress().finished > before + 100, "requests afterwards");
    const { records } = await fleet.stop();
    // What was on its way when it stopped is lost, and seen late.
    const failed = records.filter(({ outcome, intended }) => outcome !== "ok" && intended > since);
    assert.notEqual(failed.length, 0);
    assert.deepEqual(
      failed.filter(({ late }) => late === undefined),
      [],
    );
  },
);

test("a request is not sent where no file descriptor is free", { skip: without("prlimit") }, async (t) => {
  const { port } = await serve(t, () => undefined);
  const { fleet, clock, event } = await rig(t, { load: { rate: 200, timeout: "1s", pooledShare: 0 } });
  const generator = generatorPid();
  const open = readdirSync(`/proc/${generator}/fd`).length;
  execFileSync("prlimit", ["--pid", String(generator), `--nofile=${open + 20}`]);
  fleet.ready({ pod: "web-1", address: "127.0.0.1", port }, clock.now());
  await event((seen) => seen.type === "filled");
  await fleet.begin();
  await until(() => fleet.progress().notSent > 5, "requests that could not be sent");
  const { records } = await fleet.stop();
  assert.equal(records.length, fleet.progress().due);
  const notSent = records.filter(({ outcome, error }) => outcome === "not-sent" && error !== "LATE");
  assert.ok(notSent.length > 5 && notSent.every((record) => record.error === "EMFILE"));
});

const namespaces = linux && spawnSync("unshare", ["-Urn", "ip", "link"]).status === 0;

test(
  "a server without a route, or behind a wire that swallows everything, is unreachable",
  { skip: !namespaces && "needs user namespaces and ip" },
  () => {
    const script = fileURLToPath(new URL("./fixtures/unreachable.ts", import.meta.url));
    const text = execFileSync(
      "unshare",
      [
        "-Urn",
        "sh",
        "-c",
        [
          "ip link set lo up",
          "ip route add unreachable 198.18.9.0/24",
          // Frames for a station that does not exist end at the other end of the wire.
          "ip link add swallow type veth peer name other",
          "ip address add 198.18.10.1/24 dev swallow",
          "ip link set swallow up",
          "ip link set other up",
          "ip neighbour add 198.18.10.9 lladdr 02:00:00:00:00:09 dev swallow",
          'exec "$0" "$1"',
        ].join(" && "),
        process.execPath,
        script,
      ],
      { encoding: "utf8", timeout: 60_000 },
    );
    const seen = JSON.parse(text) as Record<string, readonly string[]>;
    assert.deepEqual(seen, {
      "no-route": ["unreachable EHOSTUNREACH"],
      swallowed: ["unreachable ETIMEDOUT"],
    });
  },
);
