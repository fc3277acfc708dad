import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { describe, it } from "node:test";
import { targets, wrongReading } from "../fuzz/answers.ts";
import { random as randomFrom } from "../../drain/test/random.ts";
import { haproxy } from "../src/consumers/haproxy.ts";
import { httpEndpoint } from "../src/consumers/http.ts";
import { OperatorError } from "@lameduck/protocol";

describe("an answer that is spoilt", () => {
  for (const target of targets)
    it(`a spoilt answer of ${target.name} is not understood, or is understood as it was meant`, () => {
      for (let seed = 1; seed <= 1_500; seed++)
        assert.equal(wrongReading(target, randomFrom(seed)), undefined, `seed ${seed}`);
    });
});

async function serving(server: Server): Promise<AsyncDisposable & { readonly port: number }> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket.on("error", () => undefined)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** Sends twice as many mebibytes as anybody may take, for as long as somebody reads. */
function flood(to: NodeJS.WritableStream): void {
  const chunk = Buffer.alloc(1 << 20, "1");
  let left = 128;
  const more = (): void => {
    while (to.writable && left-- > 0 && to.write(chunk));
    if (left < 0) to.end();
    else if (to.writable) to.once("drain", more);
  };
  more();
}

const { signal } = new AbortController();
const httpOf = (port: number) => httpEndpoint(new URL(`http://127.0.0.1:${port}/`));
const haproxyOf = (port: number) => haproxy({ host: "127.0.0.1", port });
const told = (problem: RegExp) => (error: unknown) =>
  error instanceof OperatorError &&
  error.code === "LAMEDUCK_OPERATOR_UNREADABLE_CONSUMER" &&
  problem.test(error.message);

describe("a proxy that behaves badly is not taken for one that has let go", { concurrency: true }, () => {
  const overHttp: readonly (readonly [string, RequestListener, RegExp])[] = [
    ["never answers", () => undefined, /abort|time/i],
    ["never ends its answer", (_, response) => void response.write('{"version":1,'), /abort|time|cut off/i],
    [
      "cuts its answer off",
      (_, response) =>
        void response.writeHead(200, { "content-length": 90 }).write("{", () => response.destroy()),
      /cut off|aborted/,
    ],
    ["fails", (_, response) => void response.writeHead(500).end("{}"), /status 500/],
    ["redirects", (_, response) => void response.writeHead(302, { location: "/" }).end(), /status 302/],
    ["says nothing", (_, response) => void response.end(), /no JSON/],
    ["answers a page", (_, response) => void response.end("<html>"), /no JSON/],
  ];
  for (const [what, answer, problem] of overHttp)
    it(`a proxy that ${what} is not taken for a proxy that has let go`, async () => {
      await using server = await serving(createHttpServer(answer));
      await assert.rejects(httpOf(server.port).stillUsed(["10.0.0.1"], signal), told(problem));
    });

  const overSocket: readonly (readonly [string, (socket: Socket) => void, RegExp])[] = [
    ["never answers", () => undefined, /no answer/],
    ["hangs up", (socket) => void socket.destroy(), /closed|reset|version 1/],
    ["says nothing", (socket) => void socket.end(), /version 1/],
    ["answers for its master process", (socket) => void socket.end("Unknown command\n\n"), /version 1/],
  ];
  for (const [what, answer, problem] of overSocket)
    it(`a HAProxy that ${what} is not taken for a HAProxy that has let go`, async () => {
      await using server = await serving(createServer(answer));
      await assert.rejects(haproxyOf(server.port).stillUsed(["10.0.0.1"], signal), told(problem));
    });
});

describe("an answer without an end is cut by its size", () => {
  const floods = [
    ["over HTTP", createHttpServer((_, response) => flood(response)), httpOf],
    ["of HAProxy", createServer(flood), haproxyOf],
  ] as const;
  for (const [what, flooding, consumerOf] of floods)
    it(what, async (t) => {
      // A slow machine reads so much in more time than an answer may take.
      t.mock.method(AbortSignal, "timeout", () => signal);
      await using server = await serving(flooding);
      await assert.rejects(
        consumerOf(server.port).stillUsed(["10.0.0.1"], signal),
        told(/more than \d+ bytes/),
      );
    });
});
