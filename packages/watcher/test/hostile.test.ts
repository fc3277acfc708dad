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

/** Sends for as long as somebody reads. */
function flood(to: NodeJS.WritableStream): void {
  const chunk = Buffer.alloc(1 << 20, "1");
  const more = (): void => {
    while (to.writable && to.write(chunk));
    if (to.writable) to.once("drain", more);
  };
  more();
}

const { signal } = new AbortController();
const told = (problem: RegExp) => (error: unknown) =>
  error instanceof OperatorError &&
  error.code === "LAMEDUCK_OPERATOR_UNREADABLE_CONSUMER" &&
  problem.test(error.message);

describe("a proxy that behaves badly is not taken for one that has let go", { concurrency: true }, () => {
  const overHttp: readonly (readonly [string, RequestListener, RegExp])[] = [
    ["never answers", () => undefined, /abort|time/i],
    ["never ends its answer", (_, response) => void response.write('{"version":1,'), /abort|time|cut off/i],
    ["answers without an end", (_, response) => flood(response), /more than \d+ bytes/],
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
      const consumer = httpEndpoint(new URL(`http://127.0.0.1:${server.port}/`));
      await assert.rejects(consumer.stillUsed(["10.0.0.1"], signal), told(problem));
    });

  const overSocket: readonly (readonly [string, (socket: Socket) => void, RegExp])[] = [
    ["never answers", () => undefined, /no answer/],
    ["floods", flood, /more than \d+ bytes/],
    ["hangs up", (socket) => void socket.destroy(), /closed|reset|version 1/],
    ["says nothing", (socket) => void socket.end(), /version 1/],
    ["answers for its master process", (socket) => void socket.end("Unknown command\n\n"), /version 1/],
  ];
  for (const [what, answer, problem] of overSocket)
    it(`a HAProxy that ${what} is not taken for a HAProxy that has let go`, async () => {
      await using server = await serving(createServer(answer));
      const consumer = haproxy({ host: "127.0.0.1", port: server.port });
      await assert.rejects(consumer.stillUsed(["10.0.0.1"], signal), told(problem));
    });
});
