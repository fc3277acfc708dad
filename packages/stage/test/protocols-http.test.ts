import assert from "node:assert/strict";
import { createServer, type Server as HttpServer } from "node:http";
import {
  constants,
  createSecureServer,
  createServer as createH2c,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { createServer as createHttps } from "node:https";
import { createServer as createTcp } from "node:net";
import { test } from "node:test";
import { createServer as createTls } from "node:tls";

import { outcomes, sentOf } from "./load-helpers.ts";
import { until } from "../../load/test/servers.ts";
import { kindsOf, listening, loading, recordsOf } from "./protocols-server.ts";
import { certificate } from "../../node/test/certificate.ts";

test("requests over https are answered on pooled and new connections without verification", async (t) => {
  const server = createHttps(certificate(), (_request, response) => response.end("ok\n"));
  const port = await listening(t, server);
  const records = await recordsOf(t, [port], { protocol: "https", expect: { quick: { text: "ok\n" } } });
  assert.deepEqual(outcomes(records), { ok: records.length });
  assert.ok(records.some(({ reused }) => reused));
  assert.ok(records.every(({ connected, sent }) => connected !== undefined && sent! >= connected));
});

test("a cut handshake of https is a request without an answer, not a connection that never was", async (t) => {
  const port = await listening(
    t,
    createTcp((socket) => socket.once("data", () => socket.resetAndDestroy())),
  );
  const records = await recordsOf(t, [port], { protocol: "https" }, 20);
  assert.deepEqual(outcomes(records), { "reset-before-response": records.length });
  assert.ok(records.every(({ connected, sent }) => connected !== undefined && sent === undefined));
});

const h2 = { h2c: () => createH2c(), h2: () => createSecureServer(certificate()) } as const;

for (const [protocol, create] of Object.entries(h2)) {
  test(`many streams over ${protocol} share a few sessions, and a session can be for one stream`, async (t) => {
    let sessions = 0;
    const server = create()
      .on("session", () => sessions++)
      .on("stream", (stream: ServerHttp2Stream) => {
        stream.respond({ ":status": 200 });
        stream.end("ok\n");
      });
    const port = await listening(t, server);
    const load = {
      protocol: protocol as "h2" | "h2c",
      pooledShare: 0.9,
      expect: { quick: { text: "ok\n", bytes: 3 } },
    };
    const records = await recordsOf(t, [port], load, 200);
    assert.deepEqual(outcomes(records), { ok: records.length });
    const alone = records.filter(({ mode }) => mode === "new").length;
    assert.equal(sessions, alone + 8);
    assert.equal(new Set(records.map(({ connection }) => connection)).size, sessions);
  });

  test(`a GOAWAY over ${protocol} is respected, and a session that is cut loses its streams`, async (t) => {
    const sessions = new Set<ServerHttp2Session>();
    const server = create()
      .on("session", (session: ServerHttp2Session) => {
        sessions.add(session);
        session.on("error", () => undefined);
        session.on("close", () => sessions.delete(session));
      })
      .on("stream", (stream: ServerHttp2Stream) => {
        stream.on("error", () => undefined);
        setTimeout(() => {
          if (stream.destroyed) return;
          stream.respond({ ":status": 200 });
          stream.end("ok\n");
        }, 50);
      });
    const port = await listening(t, server);
    const { fleet } = await loading(t, [port], { protocol: protocol as "h2" | "h2c", pooledShare: 1 });
    await until(() => fleet.progress().finished > 50, "the first requests");
    // Twice: with any stream allowed still, then with the last one named.
    for (const session of sessions) session.goaway(0, 2 ** 31 - 1);
    for (const session of sessions) session.close();
    const before = fleet.progress().finished;
    await until(() => fleet.progress().finished > before + 100, "more requests");
    assert.equal(fleet.progress().lost, 0);
    await until(() => sessions.size === 8, "new sessions");
    for (const session of sessions) session.destroy();
    await until(() => fleet.progress().lost > 0, "losses");
    const { records } = await fleet.stop();
    const lost = sentOf(records).filter(({ outcome }) => outcome !== "ok");
    assert.deepEqual(Object.keys(outcomes(lost)), ["reset-before-response"]);
    assert.ok(lost.length < 100, JSON.stringify(kindsOf(records)));
  });
}

test("a stream over h2c that is refused goes elsewhere, and one that is reset does not", async (t) => {
  const answers = createH2c().on("stream", (stream: ServerHttp2Stream) => {
    stream.respond({ ":status": 200 });
    stream.end("ok\n");
  });
  const failing = (code: number) =>
    createH2c().on("stream", (stream: ServerHttp2Stream) => {
      stream.on("error", () => undefined);
      stream.close(code);
    });
  const ports = [await listening(t, answers), await listening(t, failing(constants.NGHTTP2_REFUSED_STREAM))];
  const refused = await recordsOf(t, ports, { protocol: "h2c", pooledShare: 0 });
  const retried = refused.filter(({ retries = 0 }) => retries > 0);
  assert.ok(retried.length > 10);
  // Five times in a row to the same wrong one of two happens, but is rare.
  assert.ok(refused.filter(({ outcome }) => outcome === "ok").length > 0.9 * refused.length);
  assert.ok(refused.every(({ outcome, error }) => outcome === "ok" || error === "SENT_AWAY"));
  const reset = await recordsOf(
    t,
    [await listening(t, failing(constants.NGHTTP2_INTERNAL_ERROR))],
    { protocol: "h2c" },
    20,
  );
  assert.deepEqual(kindsOf(reset), { "reset-before-response H2_INTERNAL_ERROR": reset.length });
});

test("an answer over h2c that is cut is truncated, and a 503 is a bad status", async (t) => {
  const port = await listening(
    t,
    createH2c().on("stream", (stream: ServerHttp2Stream) => {
      stream.on("error", () => undefined);
      stream.respond({ ":status": 200 });
      stream.write("half", () => stream.destroy(new Error("cut")));
    }),
  );
  const cut = await recordsOf(t, [port], { protocol: "h2c" }, 20);
  assert.deepEqual(kindsOf(cut), { "truncated H2_INTERNAL_ERROR": cut.length });
  const busy = await listening(
    t,
    createH2c().on("stream", (stream: ServerHttp2Stream) =>
      stream.respond({ ":status": 503 }, { endStream: true }),
    ),
  );
  const records = await recordsOf(t, [busy], { protocol: "h2c" }, 20);
  assert.deepEqual(outcomes(records), { "bad-status": records.length });
  assert.ok(records.every(({ status }) => status === 503));
});

test("a server that does not speak h2 gives a wrong answer, and a closed port refuses", async (t) => {
  const port = await listening(t, createTls(certificate()));
  const records = await recordsOf(t, [port], { protocol: "h2" }, 20);
  assert.deepEqual(kindsOf(records), { "wrong-body NO_H2": records.length });
  const closed: HttpServer = createServer();
  const gone = await listening(t, closed);
  await new Promise((resolve) => closed.close(resolve));
  const refused = await recordsOf(t, [gone], { protocol: "h2c" }, 20);
  assert.deepEqual(kindsOf(refused), { "refused ECONNREFUSED": refused.length });
});

test("a stream over h2c that is never answered is a time-out, and its session goes on", async (t) => {
  let silent = 0;
  const server = createH2c().on("stream", (stream: ServerHttp2Stream) => {
    stream.on("error", () => undefined);
    if (++silent <= 3) return;
    stream.respond({ ":status": 200 });
    stream.end("ok\n");
  });
  const port = await listening(t, server);
  const load = { protocol: "h2c", pooledShare: 1, timeout: "400ms" } as const;
  const records = await recordsOf(t, [port], load, 150);
  assert.deepEqual(outcomes(records), { ok: records.length - 3, timeout: 3 });
  assert.equal(new Set(records.map(({ connection }) => connection)).size, 8);
});
