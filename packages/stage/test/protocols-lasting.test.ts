import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import { createServer as createH2c, type ServerHttp2Stream } from "node:http2";
import { describe, test, type TestContext } from "node:test";

import { WebSocketServer, type WebSocket } from "ws";

import { outcomes } from "./load-helpers.ts";
import { until } from "../../load/test/servers.ts";
import { apart, kindsOf, listening, loading, recordsOf } from "./protocols-server.ts";

/** Echoes at once, or after a while. */
async function echo(t: TestContext, after = 0): Promise<{ port: number; sockets: Set<WebSocket> }> {
  const server = createServer();
  const { clients } = new WebSocketServer({ server }).on("connection", (socket) => {
    socket.on("error", () => undefined);
    socket.on("message", (data) => {
      const answer = (): void => socket.send(data, () => undefined);
      if (after > 0) setTimeout(answer, after);
      else answer();
    });
  });
  return { port: await listening(t, server), sockets: clients };
}

describe("lasting connections and calls", { concurrency: 2 }, () => {
  test("messages over ws are answered on shared sockets and on sockets of their own, which end without a loss", async (t) => {
    const { port } = await echo(t);
    const records = await recordsOf(t, [port], { protocol: "ws" }, 200);
    const { requests, sessions } = apart(records);
    assert.deepEqual(outcomes(requests), { ok: requests.length });
    assert.equal(sessions.length, 0);
    assert.ok(requests.some(({ reused }) => reused));
  });

  for (const [how, end, session, lost] of [
    ["1001", (socket: WebSocket) => socket.close(1001), "ok", 0],
    ["1012", (socket: WebSocket) => socket.close(1012), "ok", 0],
    ["1000", (socket: WebSocket) => socket.close(1000), "truncated WS_1000", 1],
    ["no close frame", (socket: WebSocket) => socket.terminate(), "truncated WS_1006", 1],
  ] as const)
    test(`a message over ws that was not answered before the close (${how}) is ${lost ? "lost, and the session too" : "sent again elsewhere"}`, async (t) => {
      const { port, sockets } = await echo(t, 30);
      const { fleet } = await loading(t, [port], { protocol: "ws", pooledShare: 1, rate: 400 });
      await until(() => fleet.progress().finished > 100, "the first messages");
      const ended = [...sockets];
      for (const socket of ended) end(socket);
      const before = fleet.progress().finished;
      await until(() => fleet.progress().finished > before + 100, "more messages");
      const { records } = await fleet.stop();
      const { requests, sessions } = apart(records);
      assert.deepEqual(kindsOf(sessions), { [session]: ended.length });
      const failed = requests.filter(({ outcome }) => outcome !== "ok");
      assert.equal(failed.length > 0, lost > 0, JSON.stringify(kindsOf(requests)));
      assert.ok(failed.every(({ outcome }) => outcome === "reset-before-response"));
      assert.equal(
        requests.some(({ retries = 0 }) => retries > 0),
        lost === 0,
      );
      for (const { sent, intended, connected } of sessions) {
        assert.equal(sent, connected);
        assert.ok(intended > sent!);
      }
    });

  test("an upgrade to ws that is refused is a bad status or a wrong answer", async (t) => {
    const answering = (status: number) =>
      listening(
        t,
        createServer((_request, response) => response.writeHead(status).end()),
      );
    const busy = await recordsOf(t, [await answering(503)], { protocol: "ws" }, 20);
    assert.deepEqual(kindsOf(busy), { "bad-status NO_UPGRADE": busy.length });
    const plain = await recordsOf(t, [await answering(200)], { protocol: "ws" }, 20);
    assert.deepEqual(kindsOf(plain), { "wrong-body NOT_WEBSOCKET": plain.length });
  });

  /** An event every 60 ms to every subscriber: of 400 requests a second that each wait for one some twelve are under way at any moment. */
  async function eventSource(t: TestContext): Promise<{ port: number; open: Set<ServerResponse> }> {
    const open = new Set<ServerResponse>();
    const server = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(": hello\n\n");
      open.add(response);
      const timer = setInterval(() => response.write("id: 1\ndata: tick\n\n"), 60);
      response.on("close", () => {
        clearInterval(timer);
        open.delete(response);
      });
    });
    return { port: await listening(t, server), open };
  }

  for (const [how, end, session, lost] of [
    ["ends between events", (response: ServerResponse) => response.end(), "ok", 0],
    [
      "ends in an event",
      (response: ServerResponse) => response.end("data: ha"),
      "truncated HALF_AN_EVENT",
      1,
    ],
    ["is cut", (response: ServerResponse) => response.socket?.resetAndDestroy(), "truncated ECONNRESET", 1],
    ["ends before its answer does", (response: ServerResponse) => response.socket?.end(), "truncated EOF", 1],
  ] as const)
    test(`a stream over sse that ${how} is ${lost ? "lost" : "subscribed to anew"}`, async (t) => {
      const { port, open } = await eventSource(t);
      const { fleet } = await loading(t, [port], { protocol: "sse", pooledShare: 1, rate: 400 });
      await until(() => open.size === 48, "subscribers");
      // Each has had a turn since: none is cut before its first byte.
      const subscribed = fleet.progress().finished;
      await until(() => fleet.progress().finished > subscribed + 100, "events");
      for (const response of open) end(response);
      const before = fleet.progress().finished;
      await until(() => fleet.progress().finished > before + 100, "more events");
      const { records } = await fleet.stop();
      const { requests, sessions } = apart(records);
      assert.deepEqual(kindsOf(sessions), { [session]: 48 });
      const failed = requests.filter(({ outcome }) => outcome !== "ok");
      assert.equal(failed.length > 0, lost > 0, JSON.stringify(kindsOf(requests)));
      assert.ok(
        failed.every(({ outcome }) => outcome === "truncated"),
        JSON.stringify(kindsOf(failed)),
      );
    });

  test("subscribers over sse with a stream of their own stay a while, and an answer that is no event stream is a wrong one", async (t) => {
    const { port } = await eventSource(t);
    const records = await recordsOf(t, [port], { protocol: "sse", pooledShare: 0 }, 50);
    assert.deepEqual(outcomes(records), { ok: records.length });
    assert.ok(records.every(({ sent, finished }) => finished! - sent! >= 199));
    const plain = createServer((_request, response) => response.end("hello"));
    const wrong = await recordsOf(t, [await listening(t, plain)], { protocol: "sse" }, 20);
    assert.deepEqual(kindsOf(wrong), { "wrong-body NOT_EVENTS": wrong.length });
  });

  const message = (text: string): Buffer => {
    const head = Buffer.alloc(5);
    head.writeUInt32BE(text.length, 1);
    return Buffer.concat([head, Buffer.from(text)]);
  };

  /** A gRPC server of bare frames: `end` does what it does after the first message. */
  async function calls(
    t: TestContext,
    end: (stream: ServerHttp2Stream, path: string) => void,
  ): Promise<number> {
    const server = createH2c().on("stream", (stream: ServerHttp2Stream, headers) => {
      stream.on("error", () => undefined);
      stream.resume();
      assert.equal(headers["content-type"], "application/grpc");
      end(stream, headers[":path"] ?? "");
    });
    return listening(t, server);
  }

  function answer(stream: ServerHttp2Stream, parts: readonly Buffer[], status: number): void {
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": String(status) }));
    for (const part of parts) stream.write(part);
    stream.end();
  }

  test("calls over grpc are unary or streaming, and ask the health check where no method is named", async (t) => {
    const paths = new Set<string>();
    const port = await calls(t, (stream, path) => {
      paths.add(path);
      answer(
        stream,
        path === "/t.T/Stream" ? [message("a"), message("bc"), message("")] : [message("ok")],
        0,
      );
    });
    const load = { protocol: "grpc", largeShare: 0.3, paths: { large: "/t.T/Stream" } } as const;
    const records = await recordsOf(t, [port], load);
    assert.deepEqual(kindsOf(records), { ok: records.length });
    assert.deepEqual([...paths].sort(), ["/grpc.health.v1.Health/Check", "/t.T/Stream"]);
  });

  for (const [how, end, kind] of [
    [
      "UNAVAILABLE, without a message",
      (stream: ServerHttp2Stream) =>
        stream.respond(
          { ":status": 200, "content-type": "application/grpc", "grpc-status": "14" },
          { endStream: true },
        ),
      "bad-status UNAVAILABLE",
    ],
    ["CANCELLED", (stream: ServerHttp2Stream) => answer(stream, [], 1), "bad-status CANCELLED"],
    [
      "OK after half a message",
      (stream: ServerHttp2Stream) => answer(stream, [message("whole").subarray(0, 7)], 0),
      "wrong-body HALF_A_MESSAGE",
    ],
    [
      "OK without a message",
      (stream: ServerHttp2Stream) => answer(stream, [], 0),
      "wrong-body NOT_ONE_MESSAGE",
    ],
    [
      "no status at all",
      (stream: ServerHttp2Stream) => {
        stream.respond({ ":status": 200 });
        stream.end(message("ok"));
      },
      "wrong-body NO_GRPC_STATUS",
    ],
    [
      "a reset after a message",
      (stream: ServerHttp2Stream) => {
        stream.respond({ ":status": 200 });
        stream.write(message("ok"), () => stream.destroy(new Error("cut")));
      },
      "truncated H2_INTERNAL_ERROR",
    ],
  ] as const)
    test(`a call over grpc that ends with ${how} is ${kind}`, async (t) => {
      const records = await recordsOf(t, [await calls(t, end)], { protocol: "grpc" }, 20);
      assert.deepEqual(kindsOf(records), { [kind]: records.length });
    });
});
