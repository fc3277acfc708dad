import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { describe, it } from "node:test";
import { targets, wrongReading } from "../fuzz/answers.ts";
import { random as randomFrom } from "../../drain/test/random.ts";
import { backendsOf } from "../src/consumers/cilium.ts";
import { haproxy } from "../src/consumers/haproxy.ts";
import { httpEndpoint } from "../src/consumers/http.ts";
import { OperatorError, parseConsumerReport, writeConsumerReport } from "@lameduck/protocol";

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

it("a HAProxy that is silent is not waited for by who has been stopped already", async () => {
  await using server = await serving(createServer());
  await assert.rejects(haproxyOf(server.port).stillUsed([], AbortSignal.abort()), told(/no answer/));
});

it("a HAProxy that answers for its master process is not understood", async () => {
  await using server = await serving(createServer((socket) => void socket.end("Unknown command\n\n")));
  await assert.rejects(haproxyOf(server.port).stillUsed(["10.0.0.1"], signal), told(/version 1/));
});

it("a long answer is quoted in short, because a report that is too long would count as silence", () => {
  const services = [
    { status: { realized: { "backend-addresses": [{ ip: "::1", state: "\0".repeat(2 ** 20) }] } } },
  ];
  let problem = "";
  assert.throws(
    () => backendsOf(JSON.stringify(services), "cilium"),
    (error: Error) => (problem = error.message) !== "",
  );
  assert.ok(problem.length < 10_000, `${problem.length} characters`);
  const state = { kind: "cilium", node: "node1", basis: "syncs", serves: [], reason: undefined } as const;
  const progress = { applied: 0, also: [], known: 0, epoch: null, waitMs: 0 };
  const report = writeConsumerReport({ ...state, ...progress, problem: "\0".repeat(2 ** 20) });
  assert.ok(report.length < 10_000, `${report.length} characters`);
  assert.equal((parseConsumerReport(report) as { problem: string }).problem.length, 500);
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
