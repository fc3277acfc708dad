import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, createServer, get, type IncomingMessage } from "node:http";
import { connect, createServer as createHttp2Server, type ClientHttp2Session } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { test } from "node:test";
import { Servers, type WatchedServer } from "../src/servers/servers.ts";

/** A server under watch, what is told of it, and a clock. */
async function watching(server: WatchedServer) {
  const told: string[] = [];
  const time = { now: 0 };
  const settings = {
    traffic: {
      connection: () => void told.push("connection"),
      request: (_sender: string, asked: boolean) =>
        void told.push(asked ? "request of one asked" : "request"),
      asked: (_sender: string, requests: number) => void told.push(`asked after ${requests}`),
      inFlight: () => {},
    },
    isProbe: () => false,
    isStream: () => false,
    holds: true,
    spreads: false,
    now: () => time.now,
    random: () => 0.5,
    health: undefined,
  };
  const watch = new Servers(settings, assert.fail, assert.fail);
  watch.add(server, false);
  await once((server as Server).listen(0, "127.0.0.1"), "listening");
  return { told, time, watch, port: ((server as Server).address() as AddressInfo).port };
}

test("HTTP/1.1: a connection that is asked to close tells how many requests will be missing", async (t) => {
  const server = createServer((_, response) => response.end("ok"));
  const { told, watch, port } = await watching(server);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => (agent.destroy(), watch.detach(), server.close()));
  const ask = async (): Promise<string | undefined> => {
    const [answer] = (await once(get({ port, agent }), "response")) as [IncomingMessage];
    await once(answer.resume(), "end");
    return answer.headers.connection;
  };

  await ask();
  watch.hold();
  await ask();
  assert.equal(await ask(), "keep-alive");
  watch.hint(1);
  assert.equal(await ask(), "close");
  assert.deepEqual(told, ["connection", "request", "request", "request", "asked after 3"]);

  assert.equal(await ask(), "close");
  assert.deepEqual(told.slice(5), ["connection", "asked after 0"], "one that has come back");
});

test("HTTP/2: a session that is asked to go tells how many streams will be missing", async (t) => {
  const server = createHttp2Server((_, response) => response.end("ok"));
  const { told, time, watch, port } = await watching(server);
  const client: ClientHttp2Session = connect(`http://127.0.0.1:${port}`);
  t.after(() => (client.destroy(), watch.detach(), server.close()));
  const ask = async (): Promise<void> => {
    const stream = client.request();
    await once(stream.resume().end(), "end");
  };

  await ask();
  watch.hold();
  await ask();
  await ask();
  time.now = 2_000;
  watch.hint(1);
  assert.deepEqual(told, ["connection", "request", "request", "asked after 2"]);
});
