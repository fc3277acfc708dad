import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import { createServer as createH2c } from "node:http2";
import type { Socket } from "node:net";
import { describe, test, type TestContext } from "node:test";
import { WebSocketServer } from "ws";
import { judge, manyFailures, type LoadOptions } from "@lameduck/load";
import { serve, until } from "../../load/test/servers.ts";
import { listening, loading } from "./protocols-server.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");

const http =
  (answer: RequestListener) =>
  (t: TestContext): Promise<number> =>
    listening(t, createServer(answer));

const tcp =
  (behave: (socket: Socket) => void) =>
  async (t: TestContext): Promise<number> =>
    (await serve(t, behave)).port;

/** Answers each message with a text, or with none. */
const webSocket =
  (answer?: string) =>
  (t: TestContext): Promise<number> => {
    const server = createServer();
    new WebSocketServer({ server }).on("connection", (socket) => {
      socket.on("error", () => undefined);
      socket.on("message", () => answer !== undefined && socket.send(answer));
    });
    return listening(t, server);
  };

const unimplemented = (t: TestContext): Promise<number> => {
  const server = createH2c();
  server.on("stream", (stream) =>
    stream.respond(
      { ":status": 200, "content-type": "application/grpc", "grpc-status": "12" },
      { endStream: true },
    ),
  );
  return listening(t, server);
};

const status = (code: number) =>
  http((_, response) => void response.writeHead(code, { connection: "close" }).end("no"));

interface Case {
  readonly name: string;
  readonly server: (t: TestContext) => Promise<number>;
  readonly load?: Partial<LoadOptions>;
  /** What is said, or undefined where requests work. */
  readonly says?: RegExp;
}

const cases: readonly Case[] = [
  { name: "200", server: status(200) },
  { name: "401 to each", server: status(401), says: /GET \/: .*401, \d+ of \d+ times.*--header/ },
  {
    name: "404 to each",
    server: status(404),
    load: { paths: { quick: "/nope" } },
    says: /GET \/nope: .*404/,
  },
  { name: "404 that is meant", server: status(404), load: { meantStatuses: [404] } },
  { name: "500 to each", server: status(500), says: /500, .*--expect-status 500/ },
  { name: "a GET where only a POST is taken", server: status(405), says: /405.*--method/ },
  {
    name: "a POST with its body",
    server: http((request, response) => {
      let body = "";
      request.on("data", (bytes) => (body += bytes));
      request.on("end", () => response.writeHead(body === "{}" ? 200 : 400).end());
    }),
    load: { method: "POST", body: Buffer.from("{}").toString("base64") },
  },
  { name: "no HTTP at all", server: tcp((socket) => socket.end("SSH-2.0\r\n")), says: /--protocol/ },
  { name: "cut at once", server: tcp((socket) => socket.destroy()), says: /ended before the answer/ },
  { name: "silence", server: tcp(() => undefined), load: { timeout: "200ms" }, says: /no answer in time/ },
  {
    name: "TLS asked of a clear server",
    server: status(200),
    load: { protocol: "https" },
    says: /--protocol/,
  },
  { name: "HTTP/2 asked of HTTP/1.1", server: status(200), load: { protocol: "h2c" }, says: /--protocol/ },
  {
    name: "gRPC without the method",
    server: unimplemented,
    load: { protocol: "grpc" },
    says: /UNIMPLEMENTED.*--path/,
  },
  {
    name: "a WebSocket that does not echo",
    server: webSocket(),
    load: { protocol: "ws", timeout: "200ms" },
    says: /WebSocket \/: .*no answer in time.*--body/,
  },
  {
    name: "a WebSocket with an answer of its own",
    server: webSocket('{"type":"pong"}'),
    load: { protocol: "ws", body: base64('{"type":"ping"}'), answer: '"pong"' },
  },
  {
    name: "a WebSocket with another answer",
    server: webSocket("welcome"),
    load: { protocol: "ws", timeout: "200ms", body: base64("hello"), answer: "pong" },
    says: /no message of the server contained "pong"/,
  },
  {
    name: "no WebSocket there",
    server: status(200),
    load: { protocol: "ws" },
    says: /200 instead of a WebSocket/,
  },
  {
    name: "an event stream without events",
    server: http((_, response) =>
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders(),
    ),
    load: { protocol: "sse", timeout: "200ms" },
    says: /must send events/,
  },
  { name: "no event stream", server: status(200), load: { protocol: "sse" }, says: /text\/event-stream/ },
];

describe("whether requests work at all is known before anything is rolled", { concurrency: 4 }, () => {
  for (const { name, server, load = {}, says } of cases)
    test(`whether any request works is known before the rollout with ${name}`, async (t) => {
      const { fleet } = await loading(t, [await server(t)], { rate: 100, ...load });
      await until(
        () => fleet.progress().finished > 0 && !fleet.judge().undecided,
        "an end of each kind of request",
      );
      const { failure } = fleet.judge();
      const words = `${failure?.message} ${failure?.remedy}`;
      if (says) assert.match(words, says);
      else assert.equal(failure, undefined, words);
    });
});

test("a slow path that never works is found among requests that do, and some failures and redirects are named", () => {
  const sent = {
    protocol: "http",
    request: { method: "GET", headers: [], body: undefined, message: "", answer: undefined },
    paths: { quick: "/", slow: "/report", large: "/" },
  } as const;
  const good = {
    sender: "node-1",
    kind: "quick",
    due: 300,
    finished: 300,
    worked: 300,
    ends: { "200": 300 },
  } as const;
  const slow = { ...good, kind: "slow", due: 12, finished: 12, worked: 0, ends: { "404": 12 } } as const;
  assert.equal(judge([good], sent).failure, undefined);
  assert.match(judge([good, slow], sent).failure?.message ?? "", /^GET \/report: .*404, 12 of 12 times/);
  // A rollout has begun: a path that was asked twice and failed twice was cut by it, perhaps.
  const cut = { ...slow, due: 2, finished: 2, ends: { "a connection that ended before the answer": 2 } };
  assert.match(judge([good, cut], sent).failure?.message ?? "", /GET \/report/);
  assert.equal(judge([good, cut], sent, [], manyFailures).failure, undefined);
  assert.match(judge([good, slow], sent, [], manyFailures).failure?.message ?? "", /GET \/report/);
  const bad = { ...good, sender: "ingress-1", worked: 0, ends: { "400": 300 } };
  assert.match(judge([good, bad], sent).failure?.message ?? "", /GET \/ through ingress-1: /);
  // Nothing of it has ended, or too little: it is waited for.
  assert.ok(judge([good, { ...slow, due: 2, finished: 0, ends: {} }], sent).undecided);
  assert.ok(!judge([{ ...good, due: 0, finished: 0, worked: 0, ends: {} }], sent).undecided, "none was due");
  const some = { ...good, worked: 297, ends: { "200": 297, "500": 3 } };
  assert.match(
    judge([some], sent).notes.join(),
    /3 of 300 requests failed before the rollout: 500, 3 of 3 times/,
  );
  const half = { ...good, due: 3_000, finished: 3_000, worked: 1_500, ends: { "200": 1_500, "500": 1_500 } };
  assert.match(judge([half], sent).notes.join(), /: 1,500 of 3,000 requests failed before/);
  assert.match(judge([{ ...good, ends: { "302": 300 } }], sent).notes.join(), /answered with 302 each time/);
  assert.deepEqual(judge([good], sent).notes, []);
});
