import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, get } from "node:https";
import {
  connect,
  constants,
  createServer,
  type ClientHttp2Session,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { lameduck } from "../src/index.ts";
import { fixture, inPod, startScript, type Child } from "./child.ts";

const env = { ...inPod, LAMEDUCK_FLOOR: "400ms", LAMEDUCK_CONVERGENCE: "100ms" };

function start(protocol: string, more: Record<string, string> = {}): Promise<Child> {
  return startScript([fixture("protocols.ts")], { ...env, ...more, PROTOCOL: protocol });
}

function open(child: Child, scheme: "http" | "https"): ClientHttp2Session {
  const session = connect(`${scheme}://127.0.0.1:${child.port}`, { rejectUnauthorized: false });
  session.on("error", () => {});
  return session;
}

async function ask(session: ClientHttp2Session, path: string): Promise<string> {
  const stream = session.request({ ":path": path });
  let body = "";
  stream.setEncoding("utf8").on("data", (text: string) => (body += text));
  stream.resume();
  await once(stream, "end");
  if (stream.rstCode !== 0) throw new Error(`reset with ${stream.rstCode}`);
  return body;
}

describe("HTTP/2", { concurrency: 3 }, () => {
  for (const [protocol, scheme] of [
    ["h2c", "http"],
    ["h2", "https"],
  ] as const)
    test(`${protocol}: with a spread, sessions that carry streams without an end are asked to go one after the other after the hold`, async () => {
      await using child = await start(protocol, { LAMEDUCK_SPREAD: "3s" });
      const goneAfter: (string | undefined)[] = [];
      const clients = await Promise.all(
        Array.from({ length: 20 }, async () => {
          const session = open(child, scheme);
          session.on("goaway", () => goneAfter.push(child.event("closing")?.phase));
          const stream = session.request({ ":path": "/events", accept: "text/event-stream" });
          await once(stream.resume(), "response");
          return { session, stream };
        }),
      );
      const ended = clients.map(async ({ session, stream }) => {
        // Requests go on beside it, and do not prolong the hold.
        while (!child.event("closing")) {
          assert.equal(await ask(session, "/"), "ok\n");
          await new Promise((resolve) => setTimeout(resolve, 250));
        }
        if (!stream.readableEnded) await once(stream, "end");
        assert.equal(stream.rstCode, 0);
      });
      child.kill();
      await child.until(() => goneAfter.length > 0);
      assert.ok(goneAfter.length < clients.length, "the others still have their sessions");
      await Promise.all(ended);
      assert.deepEqual(new Set(goneAfter), new Set(["closing"]));
      assert.equal((await child.exited).code, 0);
      assert.ok(child.endedBeforeCap, child.stderr);
      assert.deepEqual(child.event("closed")?.lasting, { ended: 20, unanswered: 0 });
    });

  for (const [protocol, scheme] of [
    ["h2c", "http"],
    ["h2", "https"],
  ] as const)
    test(`${protocol}: streams finish, new ones are served, the client is told twice to go`, async () => {
      await using child = await start(protocol);
      const session = open(child, scheme);
      assert.equal(await ask(session, "/"), "ok\n");
      const goaways: number[] = [];
      session.on("goaway", (_code, lastStream) => goaways.push(lastStream));
      const long = ask(session, "/?wait=2500");
      child.kill();
      await child.until("lame-duck");
      assert.equal(await ask(session, "/"), "ok\n", "an established session is served");
      const fresh = open(child, scheme);
      assert.equal(await ask(fresh, "/"), "ok\n", "a new session is served");
      assert.equal(await long, "ok\n", "a stream begun before the hold finishes");
      const { code } = await child.exited;
      assert.equal(code, 0);
      if (protocol === "h2c") assert.equal(goaways[0], 2 ** 31 - 1, "whatever is on its way is still served");
      else assert.ok(goaways[0]! > 1 && goaways[0]! < 2 ** 31 - 1, "over TLS it names the last one served");
      assert.equal(child.event("closed")?.reason, "done");
      assert.equal(child.event("closing")?.connections, 1);
      session.destroy();
      fresh.destroy();
    });

  interface Ended {
    received: string;
    code: number;
    trailers: Record<string, unknown>;
  }

  /** `ended` is how it ends; `begun` resolves with its first data. */
  function begin(
    session: ClientHttp2Session,
    headers: Record<string, string>,
  ): { begun: Promise<unknown>; ended: Promise<Ended> } {
    const stream = session.request({ ...headers });
    const ended: Ended = { received: "", code: 0, trailers: {} };
    stream.setEncoding("utf8").on("data", (text: string) => (ended.received += text));
    stream.on("trailers", (trailers) => (ended.trailers = trailers)).on("error", () => {});
    return {
      begun: new Promise((resolve) => stream.once("data", resolve)),
      ended: new Promise((resolve) => {
        stream.once("close", () => resolve({ ...ended, code: stream.rstCode ?? 0 }));
      }),
    };
  }

  for (const [protocol, scheme] of [
    ["h2c", "http"],
    ["h2", "https"],
  ] as const)
    test(`${protocol}: what lasts as long as the client likes and began before SIGTERM is ended in order`, async () => {
      const OPTIONS = JSON.stringify({ streams: { paths: ["/poll", "/grpc.Endless/Watch"] } });
      await using child = await start(protocol, { OPTIONS });
      const session = open(child, scheme);
      const asked = begin(session, { ":path": "/events", accept: "text/event-stream" });
      const unasked = begin(session, { ":path": "/events" });
      const listed = begin(session, { ":path": "/events?listed" });
      const call = begin(session, { ":path": "/grpc.Endless/Watch", ":method": "POST" });
      const poll = begin(session, { ":path": "/poll" });
      const streams = [asked, unasked, call, listed];
      await Promise.all(streams.map(({ begun }) => begun));
      // What is asked later is answered later: the poll is there, too.
      assert.equal(await ask(session, "/"), "ok\n");
      child.kill();
      for (const [index, end] of (await Promise.all(streams.map(({ ended }) => ended))).entries()) {
        assert.equal(end.code, 0);
        assert.match(end.received, /\n\n$/, "between two events");
        assert.equal(end.trailers["grpc-status"], index === 2 ? "14" : undefined);
      }
      assert.equal((await poll.ended).code, constants.NGHTTP2_CANCEL);
      assert.equal((await child.exited).code, 0);
      const closed = child.event("closed")!;
      assert.deepEqual(closed.cut, { requests: 0, connections: 0 });
      assert.equal(closed.reason, "done");
      assert.ok(child.endedBeforeCap, child.stderr);
      session.destroy();
    });

  test("a call served by requests, of which Node sends the trailers, is ended in order, too", async () => {
    const OPTIONS = JSON.stringify({ streams: { paths: ["/grpc.Endless/Watch"] } });
    await using child = await start("h2c by requests", { OPTIONS });
    const session = open(child, "http");
    const call = begin(session, { ":path": "/grpc.Endless/Watch", ":method": "POST" });
    await call.begun;
    child.kill();
    assert.equal((await call.ended).code, 0);
    assert.equal((await child.exited).code, 0);
    assert.equal(child.event("closed")?.reason, "done");
    assert.ok(!child.stderr.includes('"notice"'), child.stderr);
    session.destroy();
  });

  test("a stream begun before SIGTERM that never ends is counted: in flight, and when it is cut", async () => {
    await using child = await start("h2c", { LAMEDUCK_CAP: "1s", LAMEDUCK_GRACE_PERIOD: "3s" });
    const session = open(child, "http");
    const cut = begin(session, { ":path": "/poll" });
    assert.equal(await ask(session, "/"), "ok\n");
    child.kill();
    await child.until("lame-duck");
    const [first] = child.events;
    assert.equal((first as { inFlight?: number }).inFlight, 1);
    await cut.ended;
    assert.equal((await child.exited).code, 0);
    assert.deepEqual(child.event("closed")?.cut, { requests: 1, connections: 1 });
    session.destroy();
  });

  test("an idle session does not hold the process", async () => {
    await using child = await start("h2c");
    const session = open(child, "http");
    await ask(session, "/");
    child.kill();
    assert.equal((await child.exited).code, 0);
    assert.equal(child.event("closed")?.reason, "done");
    session.destroy();
  });

  test("event streams over HTTP/2 are ended, not cut", async () => {
    await using child = await start("h2c");
    const session = open(child, "http");
    child.kill();
    await child.until("lame-duck");
    const stream = session.request({ ":path": "/events", accept: "text/event-stream" });
    stream.resume();
    await once(stream, "end");
    assert.equal(stream.rstCode, 0);
    assert.equal((await child.exited).code, 0);
    session.destroy();
  });

  test("a secure server that allows HTTP/1.1 asks those clients as well", async () => {
    await using child = await start("h2 with http1", {
      LAMEDUCK_POLICY: "until-deadline",
      LAMEDUCK_CAP: "3s",
    });
    const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
    const askOne = (): Promise<string | undefined> =>
      new Promise((resolve, reject) => {
        get({ host: "127.0.0.1", port: child.port, agent }, (response) => {
          response.resume().on("end", () => resolve(response.headers.connection));
        }).on("error", reject);
      });
    const session = open(child, "https");
    assert.equal(await ask(session, "/"), "ok\n");
    assert.equal(await askOne(), "keep-alive");
    child.kill();
    let connection = await askOne();
    while (connection !== "close") connection = await askOne();
    assert.equal((await child.exited).code, 0);
    assert.equal(child.event("closed")?.reason, "done");
    agent.destroy();
    session.destroy();
  });

  test("what is taken back leaves sessions and their streams as they were", async (t) => {
    const server = createServer();
    const bare = server.listenerCount("session");
    const duck = lameduck(server, { log: false, exit: false, signals: false, environment: {} });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    t.after(() => {
      session.destroy();
      server.close();
    });
    session.request({ ":path": "/" }).on("error", () => {});
    const [[ours], [stream]] = (await Promise.all([
      once(server, "session"),
      once(server, "stream"),
    ])) as unknown as [[ServerHttp2Session], [ServerHttp2Stream]];
    const counts = (): number[] => [
      server.listenerCount("session"),
      ours.listenerCount("stream"),
      ours.listenerCount("close"),
      stream.listenerCount("close"),
    ];
    const attached = counts();
    duck.detach();
    assert.deepEqual(
      counts(),
      attached.map((count) => count - 1),
    );
    assert.equal(server.listenerCount("session"), bare);
  });

  for (const [protocol, scheme] of [
    ["h2c", "http"],
    ["h2 with http1", "https"],
  ] as const)
    test(`${protocol}: a health path can fail while requests succeed`, async () => {
      const OPTIONS = JSON.stringify({ lbHealth: { path: "/alive", wait: "1200ms" } });
      await using child = await start(protocol, { OPTIONS });
      const session = open(child, scheme);
      const status = async (path: string): Promise<unknown> => {
        const stream = session.request({ ":path": path }).resume();
        const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
        return headers[":status"];
      };
      assert.equal(await status("/alive?x=1"), 200);
      child.kill();
      await child.until("lame-duck");
      assert.equal(await status("/alive?x=1"), 503);
      assert.equal(await status("/other"), 200);
      assert.equal((await child.exited).code, 0);
      assert.ok(child.event("closing")!.hold >= 1_190);
      session.destroy();
    });
});
