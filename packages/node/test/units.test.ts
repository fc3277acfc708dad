import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parseEvent, parseEvents } from "../src/events.ts";
import { inOrder } from "../src/closing/hooks.ts";
import { lameduck, LameduckError } from "../src/index.ts";
import { makeLog } from "../src/reports/log.ts";
import { parseProbes, parseStreams } from "../src/options/requests.ts";
import { senderOf } from "../src/internals.ts";

test("lines of other programs are no events of Lameduck", () => {
  assert.equal(parseEvent("listening"), undefined);
  assert.equal(parseEvent('{"lameduck"'), undefined);
  assert.equal(parseEvent('{"lameduck":"phase","phase":"exploding","at":1,"pid":1}'), undefined);
  assert.equal(parseEvent('["lameduck"]'), undefined);
});

test("events are found among other lines, and keep fields that are unknown here", () => {
  const output = 'x\n{"level":30,"lameduck":"phase","phase":"closing","at":1,"pid":2,"later":3}\r\ny';
  assert.deepEqual(parseEvents(output), [
    { level: 30, lameduck: "phase", phase: "closing", at: 1, pid: 2, later: 3 },
  ]);
});

test("pino's logger gets fields, the console gets a line, and a logger that throws hurts nobody", () => {
  const notice = { lameduck: "notice", at: 1, pid: 2, notice: "n", message: "m" } as const;
  const calls: unknown[][] = [];
  const info = (...args: unknown[]): void => void calls.push(args);
  makeLog({ info, child: () => {} } as never)(notice);
  makeLog({ info })(notice);
  makeLog(false)(notice);
  makeLog({
    info: () => {
      throw new Error("closed");
    },
  })(notice);
  assert.deepEqual(calls, [[notice, "m"], [JSON.stringify(notice)]]);
});

test("probes are told by agent, path and predicate", () => {
  const isProbe = parseProbes({
    paths: ["/ready"],
    userAgents: [/monitor/],
    match: ({ url }) => url === "/x",
  });
  const of = (url: string, agent?: string) => isProbe({ url, headers: { "user-agent": agent } });
  assert.ok(of("/", "kube-probe/1.36+"));
  assert.ok(of("/", "GoogleHC/1.0"));
  assert.ok(of("/", "ELB-HealthChecker/2.0"));
  assert.ok(of("/metrics", "Prometheus/3.5.0"));
  assert.ok(of("/", "our monitor"));
  assert.ok(of("/ready?verbose=1", "curl"));
  assert.ok(of("/x"));
  assert.ok(of("/grpc.health.v1.Health/Check", "grpc-go"));
  const raw = (...rawHeaders: string[]) => isProbe({ url: "/", headers: {}, rawHeaders });
  assert.ok(raw("Host", "kube-probe/", "USER-Agent", "kube-probe/1.36"));
  assert.ok(!raw("Host", "x", "X-User-Agt", "kube-probe/1.36"));
  assert.ok(!of("/readyish", "curl"));
  assert.ok(!of("/ready/", "Mozilla Prometheus/3"));
});

test("IPv4 peers of an IPv6 listener are the same senders", () => {
  assert.equal(senderOf({ remoteAddress: "::ffff:198.18.0.7" } as Socket), "198.18.0.7");
});

test("a client without an address is a socket file's client, or is unknown where it came by TCP and has gone", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "lameduck-units-"));
  for (const [where, sender] of [
    [{ path: join(folder, "socket") }, "unix"],
    [{ port: 0, host: "127.0.0.1" }, "unknown"],
  ] as const) {
    const server = createServer();
    t.after(() => server.close());
    await once(server.listen(where), "listening");
    const address = server.address();
    const isFile = typeof address === "string";
    const client = connect(isFile ? { path: address } : { port: address!.port }).on("error", () => {});
    const [socket] = (await once(server, "connection")) as [Socket];
    const closed = new Promise((resolve) => socket.on("error", () => {}).once("close", resolve));
    if (isFile) client.destroy();
    else client.resetAndDestroy();
    await closed;
    assert.equal(senderOf(socket), sender);
  }
  rmSync(folder, { recursive: true });
});

test("a match function of the application that fails is a no with one warning, as is an answer other than true", async (t) => {
  const warnings: string[] = [];
  const note = (warning: Error & { code?: string }): void =>
    void warnings.push(`${warning.code}: ${warning.message}`);
  process.on("warning", note);
  t.after(() => process.removeListener("warning", note));
  const request = { url: "/", headers: {} };
  const failing = (): boolean => {
    throw new Error("as asked");
  };
  const isProbe = parseProbes({ match: failing });
  assert.deepEqual([isProbe(request), isProbe(request)], [false, false]);
  assert.equal(parseStreams({ match: failing })(request), false);
  assert.equal(parseProbes({ match: (() => Promise.resolve(true)) as never })(request), false);
  assert.equal(parseProbes({ match: () => true })(request), true);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(
    warnings.map((text) => text.split(";")[0]),
    ["LAMEDUCK_MATCH_FAILED: probes.match: as asked", "LAMEDUCK_MATCH_FAILED: streams.match: as asked"],
  );
});

test("a hook runs after the hooks that it names, a circle of hooks is named, and an unknown name is left out", () => {
  const hook = (name: string, ...after: string[]) => ({ name, after });
  const names = (...hooks: ReturnType<typeof hook>[]) => inOrder(hooks).map(({ name }) => name);
  assert.deepEqual(names(hook("a", "c"), hook("b"), hook("c", "d"), hook("d")), ["d", "c", "a", "b"]);
  assert.throws(() => names(hook("a", "b"), hook("b", "a")), /a after b after a/);
  assert.deepEqual(names(hook("a", "z"), hook("b")), ["a", "b"]);
});

const quiet = { log: false, exit: false, signals: false, environment: {} } as const;

test("mistakes with servers and hooks are coded errors", async () => {
  const code = (expected: string) => (error: unknown) => {
    assert.ok(error instanceof LameduckError);
    assert.equal(error.code, expected);
    return true;
  };
  const server = createServer();
  const duck = lameduck(server, quiet);
  assert.throws(() => lameduck(server, quiet), code("LAMEDUCK_ATTACHED_TWICE"));
  assert.throws(() => lameduck({} as never, quiet), code("LAMEDUCK_NOT_A_SERVER"));
  assert.throws(() => lameduck((() => {}) as never, quiet), code("LAMEDUCK_NOT_A_SERVER"));
  assert.throws(() => lameduck(undefined as never, quiet), code("LAMEDUCK_NOT_A_SERVER"));
  duck.hook("closed", "a", () => {});
  assert.throws(() => duck.hook("closed", "a", () => {}), code("LAMEDUCK_BAD_HOOK"));
  assert.throws(() => duck.hook("later" as never, "b", () => {}), code("LAMEDUCK_BAD_HOOK"));
  await duck.terminate();
  assert.throws(() => duck.add(createServer()), code("LAMEDUCK_TERMINATING"));
  assert.throws(() => duck.hook("closed", "late", () => {}), code("LAMEDUCK_TERMINATING"));
});

test("a lease is finished like a request, and can be taken with using", async () => {
  const duck = lameduck(createServer(), quiet);
  const lease = duck.busy();
  assert.equal(duck.state().leases, 1);
  let closed = false;
  const end = duck.terminate().then(() => (closed = true));
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(closed, false);
  lease[Symbol.dispose]();
  lease[Symbol.dispose]();
  await end;
  assert.equal(duck.state().leases, 0);
  assert.equal(duck.signal.aborted, true);
});

test("gauges are registered with whatever module is given, and read when scraped", async () => {
  const gauges = new Map<string, () => number>();
  class Gauge {
    readonly name: string;
    constructor(options: { name: string; collect(this: { set(value: number): void }): void }) {
      this.name = options.name;
      gauges.set(this.name, () => {
        let seen = Number.NaN;
        options.collect.call({ set: (value) => (seen = value) });
        return seen;
      });
    }
  }
  const duck = lameduck(createServer(), quiet).metrics({ Gauge });
  assert.equal(gauges.get("lameduck_phase")?.(), 0);
  await duck.terminate();
  assert.equal(gauges.get("lameduck_phase")?.(), 3);
  assert.equal(gauges.get("lameduck_open_connections")?.(), 0);
});

test("a termination is a span where OpenTelemetry is at hand", async () => {
  const told: string[] = [];
  const span = {
    setAttributes: () => {},
    addEvent: (name: string) => told.push(name),
    end: () => told.push("end"),
  };
  const api = { trace: { getTracer: () => ({ startSpan: (name: string) => (told.push(name), span) }) } };
  const place = Symbol.for("opentelemetry.js.api.1");
  const global = globalThis as Record<symbol, unknown>;
  global[place] = api;
  await lameduck(createServer(), quiet).terminate();
  delete global[place];
  assert.deepEqual(told, ["termination", "closing", "closed", "end"]);
});

test("detaching the library leaves the process and the server as they were", () => {
  const state = () => [
    Object.hasOwn(process, "emit"),
    ...["SIGTERM", "SIGINT"].map((signal) => process.listenerCount(signal)),
  ];
  const before = state();
  const server = createServer();
  const connectionListeners = server.listenerCount("connection");
  const duck = lameduck(server, { ...quiet, signals: true });
  assert.notDeepEqual(state(), before);
  duck.detach();
  assert.equal(server.listenerCount("connection"), connectionListeners);
  assert.deepEqual(state(), before);
  lameduck(server, quiet).detach();
});

test("a logger that rejects is not told of its own failure, and ends nothing", async () => {
  let calls = 0;
  const rejects = (): Promise<never> => {
    calls++;
    return Promise.reject(new Error("the log is full"));
  };
  const unhandled: unknown[] = [];
  const listener = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", listener);
  makeLog({ info: rejects, warn: rejects })({ lameduck: "notice", message: "x" } as never);
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", listener);
  assert.deepEqual([calls, unhandled], [1, []]);
});
