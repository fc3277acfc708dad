import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { createSecureServer } from "node:http2";
import { createServer as createHttps } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { WebSocketServer } from "ws";
import {
  openRoute,
  parseRoutes,
  requestsLoad,
  RouteLoad,
  type LoadSeen,
  type RouteManner,
} from "@lameduck/load";
import { runClock } from "@lameduck/accounting";
import { until } from "../../load/test/servers.ts";
import { sentOf } from "./load-helpers.ts";
import { kindsOf, listening } from "./protocols-server.ts";
import { certificate } from "../../node/test/certificate.ts";

/** What the load of a command sends to one URL, until the condition holds. */
async function loaded(
  t: TestContext,
  url: string,
  manner: RouteManner,
  { enough, learn = 0 }: { enough: (finished: number) => boolean; learn?: number },
): Promise<LoadSeen> {
  const routes = await Promise.all(parseRoutes([url], manner).map((route) => openRoute(route)));
  const load = await RouteLoad.start({
    clock: runClock(),
    routes,
    rate: 300,
    pooledShare: 0.5,
    timeout: 5_000,
    maxDuration: 60_000,
    maxRequests: 5_000,
    learn,
    seed: 7,
  });
  t.after(() => load.close());
  await load.begin();
  await until(() => enough(load.counts().sent + load.counts().failed), "enough requests", 30_000);
  const seen = await load.stop();
  return { ...seen, records: sentOf(seen.records) };
}

const some = { enough: (finished: number) => finished >= 40 };
const secret = {
  request: { method: "post", headers: ["Authorization: Bearer x", "X-Two: 1", "X-Two: 2"], body: "aGk=" },
};

async function spoken(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const bytes of request.setEncoding("utf8") as AsyncIterable<string>) body += bytes;
  const { authorization, "x-two": two, "user-agent": agent } = request.headers;
  return `${request.method} ${authorization} ${String(two)} ${agent} ${body}`;
}

const once = "POST Bearer x 1, 2 lameduck-load hi";

describe("requests", { concurrency: 2 }, () => {
  for (const [protocol, scheme] of [
    ["http", "http"],
    ["https", "https"],
    ["h2", "https"],
  ] as const)
    test(`a request over ${protocol} has the method, the headers and the body that were asked for, also the first one`, async (t) => {
      const seen = new Set<string>();
      const listener = async (request: IncomingMessage, answer: () => void): Promise<void> => {
        seen.add(await spoken(request));
        answer();
      };
      const plain: RequestListener = (request, response) => void listener(request, () => response.end("ok"));
      const server =
        protocol === "h2"
          ? createSecureServer(certificate(), (request, response) => {
              void listener(request as unknown as IncomingMessage, () => response.end("ok"));
            })
          : protocol === "https"
            ? createHttps(certificate(), plain)
            : createServer(plain);
      const port = await listening(t, server);
      const ca = certificate().cert.toString();
      const { records } = await loaded(
        t,
        `${scheme}://127.0.0.1:${port}/`,
        { ...secret, protocol, tls: { ca } },
        some,
      );
      assert.deepEqual(kindsOf(records), { ok: records.length });
      assert.deepEqual([...seen], [once]);
    });

  test("the load uses a connection with HEAD requests again, although the answers tell a length", async (t) => {
    const server = createServer((_, response) => response.writeHead(200, { "content-length": 5 }).end());
    const url = `http://127.0.0.1:${await listening(t, server)}/`;
    const { records } = await loaded(t, url, { request: { method: "HEAD" } }, some);
    assert.deepEqual(kindsOf(records), { ok: records.length });
    assert.ok(records.some(({ reused }) => reused));
  });

  test("the load verifies a server's certificate, unless the user says not to or names another authority", async (t) => {
    const url = `https://127.0.0.1:${await listening(
      t,
      createHttps(certificate(), (_, response) => response.end()),
    )}/`;
    const [route] = parseRoutes([url]);
    assert.ok(route);
    await assert.rejects(openRoute(route), /its certificate is not believed: .*--ca-file .*--insecure/);
    const [foreign] = parseRoutes([url.replace("127.0.0.1", "localhost")], {
      request: { headers: ["Host: shop.example"] },
      tls: { ca: certificate().cert.toString() },
    });
    assert.ok(foreign);
    await assert.rejects(openRoute(foreign), /not believed: .*shop\.example/);
    for (const tls of [{ verify: false }, { ca: certificate().cert.toString() }]) {
      const { records } = await loaded(t, url, { tls }, some);
      assert.deepEqual(kindsOf(records), { ok: records.length });
    }
  });

  for (const protocol of ["h2", "grpc"] as const)
    test(`the load verifies a server's certificate over ${protocol} before anything is sent`, async (t) => {
      const url = `https://127.0.0.1:${await listening(t, createSecureServer(certificate()))}/`;
      const [route] = parseRoutes([url], { protocol });
      assert.ok(route);
      await assert.rejects(openRoute(route), /its certificate is not believed/);
    });

  test("a server that shows another certificate later is counted as a loss by that name", async (t) => {
    const server = createHttps(certificate(), (_, response) => response.end());
    const url = `https://127.0.0.1:${await listening(t, server)}/`;
    const routes = parseRoutes([url], { tls: { verify: false } });
    const opened = await Promise.all(routes.map((route) => openRoute(route)));
    // As if the server had changed its certificate: the load does not trust it any more.
    const load = await RouteLoad.start({
      clock: runClock(),
      routes: opened.map((route) => ({ ...route, tls: {} })),
      rate: 100,
      pooledShare: 0.5,
      timeout: 5_000,
      maxDuration: 20_000,
      maxRequests: 1_000,
      seed: 1,
    });
    t.after(() => load.close());
    await load.begin();
    await until(() => load.counts().failed >= 10, "failures");
    const records = sentOf((await load.stop()).records);
    assert.deepEqual(kindsOf(records), { "wrong-body DEPTH_ZERO_SELF_SIGNED_CERT": records.length });
  });

  test("the messages of wss go over TLS, with the headers of the upgrade", async (t) => {
    const server = createHttps(certificate());
    const seen = new Set<string | undefined>();
    new WebSocketServer({ server }).on("connection", (socket, request) => {
      seen.add(request.headers.authorization);
      socket.on("error", () => undefined);
      socket.on("message", (data) => socket.send(data));
    });
    server.on("request", (_, response: { writeHead: (status: number) => { end: () => void } }) =>
      response.writeHead(426).end(),
    );
    const url = `wss://127.0.0.1:${await listening(t, server)}/`;
    const manner = {
      request: { headers: ["Authorization: Bearer x"] },
      tls: { ca: certificate().cert.toString() },
    };
    const { records } = await loaded(t, url, manner, some);
    assert.deepEqual(kindsOf(records), { ok: records.length });
    assert.deepEqual([...seen], ["Bearer x"]);
  });

  test("a status of a class that a path has not answered before is a loss of its own kind", async (t) => {
    const learn = 500;
    let status = 0;
    let answered = 0;
    let first: number | undefined;
    const server = createServer((_, response) => {
      first ??= performance.now();
      // A machine that stood still lets many requests come at once.
      if (answered++ > 300 && performance.now() > first + 4 * learn) status = 404;
      // At first the server answers a mixture of 200 and 302. Later it answers 404, as a proxy without a backend does.
      response.writeHead(status === 0 ? (answered % 2 ? 200 : 302) : status).end();
    });
    const url = `http://127.0.0.1:${await listening(t, server)}/`;
    let before: number | undefined;
    const enough = (finished: number): boolean => {
      if (status === 404) before ??= finished;
      return before !== undefined && finished >= before + 200;
    };
    const seen = await loaded(t, url, {}, { enough, learn });
    const kinds = kindsOf(seen.records);
    assert.ok((kinds["other-status LEARNED_2XX_3XX"] ?? 0) > 50, JSON.stringify(kinds));
    assert.deepEqual(Object.keys(kinds).sort(), ["ok", "other-status LEARNED_2XX_3XX"]);
    assert.ok(seen.records.every(({ outcome, status: of }) => (outcome === "ok") === (of !== 404)));
  });

  test("the first answer of a path tells what is right where no second answer comes before a termination", async (t) => {
    let answered = 0;
    const server = createServer((_, response) => response.writeHead(answered++ === 0 ? 200 : 404).end());
    const url = `http://127.0.0.1:${await listening(t, server)}/`;
    const { records } = await loaded(t, url, {}, { enough: (finished) => finished >= 20, learn: 0.001 });
    assert.deepEqual(kindsOf(records), { "other-status LEARNED_2XX": records.length });
  });

  test("the status that a path answers when nothing happens is right, also a 404", async (t) => {
    const server = createServer((_, response) => response.writeHead(404).end());
    const url = `http://127.0.0.1:${await listening(t, server)}/`;
    const { records } = await loaded(t, url, {}, { enough: (finished) => finished >= 200, learn: 100 });
    assert.deepEqual(kindsOf(records), { ok: records.length });
  });

  test("the requests of another tool are compared with what each URL answered before the rollout", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "lameduck-learned-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "requests.jsonl");
    const line = (at: number, status: number, url: string): string =>
      JSON.stringify({ time: new Date(1_769_860_800_000 + at).toISOString(), status, latency: 1, url });
    const [known, late] = ["http://known.example/", "http://late.example/"];
    const lines = [
      line(1_000, 200, known),
      line(2_000, 404, known),
      line(11_000, 404, known),
      line(12_000, 302, known),
      line(12_500, 200, known),
      line(13_000, 404, late),
    ];
    writeFileSync(file, `${lines.join("\n")}\n`);
    const clock = { origin: "0", now: () => 0, fromEpoch: (at: number) => at };
    const load = requestsLoad({ clock, files: [file], learn: 10_000 });
    const from = 1_769_860_800_000;
    const { records, notes } = await load.stop({ podAt: () => undefined, from, to: from + 60_000 });
    assert.deepEqual(
      records.map(({ outcome, status }) => `${outcome} ${status}`),
      ["ok 200", "ok 404", "ok 404", "other-status 302", "ok 200", "ok 404"],
    );
    assert.ok(
      notes.some((note) => /late\.example answers was not seen before/.test(note)),
      notes.join("\n"),
    );
  });
});
