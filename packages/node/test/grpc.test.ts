import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { connect } from "node:tls";
import { fileURLToPath } from "node:url";
import { Client, credentials, type ClientReadableStream, type ServiceError } from "@grpc/grpc-js";
import { certificate } from "./certificate.ts";
import { fixture, inPod, startScript, type Child } from "./child.ts";

const register = fileURLToPath(new URL("../src/register.ts", import.meta.url));
const env = { ...inPod, LAMEDUCK_FLOOR: "700ms", LAMEDUCK_CONVERGENCE: "100ms" };
const raw = (value: Buffer): Buffer => value;

function start(more: Record<string, string> = {}): Promise<Child> {
  return startScript(["--import", register, fixture("grpc.mjs")], { ...env, ...more });
}

/** As a scanner or the HTTPS health check of a load balancer connects: without ALPN, or with one that is not h2. */
async function connectWithoutHttp2(port: number, ALPNProtocols?: string[]): Promise<void> {
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false, ALPNProtocols });
  socket.on("error", () => {});
  socket.on("secureConnect", () => socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  await new Promise((resolve) => socket.resume().once("close", resolve));
}

function unary(client: Client, wait: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const done = (error: ServiceError | null, value?: Buffer): void =>
      error ? reject(error) : resolve(String(value));
    client.makeUnaryRequest("/test.Echo/Unary", raw, raw, Buffer.from(String(wait)), done);
  });
}

test("gRPC: calls in flight finish, new ones are served during the hold, without the server knowing of us", async () => {
  await using child = await start();
  const client = new Client(`127.0.0.1:${child.port}`, credentials.createInsecure());
  assert.equal(await unary(client, 0), "done");
  const long = unary(client, 2_000);
  const stream: ClientReadableStream<Buffer> = client.makeServerStreamRequest(
    "/test.Echo/Stream",
    raw,
    raw,
    Buffer.from("20"),
  );
  let messages = 0;
  stream.on("data", () => messages++);
  const streamed = new Promise<void>((resolve, reject) => stream.on("end", resolve).on("error", reject));
  await new Promise((resolve) => setTimeout(resolve, 100));
  child.kill();
  await child.until("lame-duck");
  assert.equal(await unary(client, 0), "done");
  const other = new Client(`127.0.0.1:${child.port}`, credentials.createInsecure(), {
    "grpc.use_local_subchannel_pool": 1,
  });
  assert.equal(await unary(other, 0), "done");
  assert.equal(await long, "done");
  await streamed;
  assert.equal(messages, 20);
  assert.equal((await child.exited).code, 0);
  assert.equal(child.event("closed")?.reason, "done");
  client.close();
  other.close();
});

test("gRPC over TLS: a connection that cannot HTTP/2 is refused as it would be without us, and calls go on", async () => {
  await using child = await start({ TLS: "1" });
  const client = new Client(`localhost:${child.port}`, credentials.createSsl(certificate().cert));
  assert.equal(await unary(client, 0), "done");
  for (const alpn of [undefined, ["http/1.1"], undefined]) {
    await connectWithoutHttp2(child.port, alpn);
    assert.equal(await unary(client, 0), "done");
  }
  child.kill();
  await child.until("lame-duck");
  await connectWithoutHttp2(child.port);
  assert.equal(await unary(client, 0), "done");
  assert.equal((await child.exited).code, 0);
  client.close();
});

describe(
  "gRPC with keepalive pings: a client that was asked to go keeps its calls",
  { concurrency: 4 },
  () => {
    for (const TLS of ["", "1"])
      for (const who of ["server", "client"])
        test(`${TLS ? "TLS" : "clear text"}, pings of ${who}`, async () => {
          await using child = await start({ TLS, KEEP: who === "client" ? "" : "1" });
          const pings =
            who === "server" ? {} : { "grpc.keepalive_time_ms": 200, "grpc.keepalive_timeout_ms": 5_000 };
          const [target, how] = TLS
            ? [`localhost:${child.port}`, credentials.createSsl(certificate().cert)]
            : [`127.0.0.1:${child.port}`, credentials.createInsecure()];
          const client = new Client(target, how, { ...pings, "grpc.use_local_subchannel_pool": 1 });
          assert.equal(await unary(client, 0), "done");
          const long = unary(client, 2_500);
          // Is there when a later one has been answered.
          assert.equal(await unary(client, 0), "done");
          child.kill();
          await child.until("lame-duck");
          const later = unary(client, 2_800);
          // One after the other, so that the next may be on its way when the client is asked. It does not ping: a ping within that round
          // trip costs grpc-js the call, whoever closes the server.
          const turns = new Client(target, how, { "grpc.use_local_subchannel_pool": 1 });
          for (let turn = 0; turn < 3; turn++) assert.equal(await unary(turns, 600), "done");
          assert.deepEqual(await Promise.all([long, later]), ["done", "done"]);
          assert.equal((await child.exited).code, 0);
          assert.equal(child.event("closed")?.reason, "done");
          assert.notEqual(child.event("closing")?.reason, "cap");
          client.close();
          turns.close();
        });
  },
);
