import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, request as httpsRequest } from "node:https";
import { connect, type Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { connect as tlsConnect, type TLSSocket } from "node:tls";
import { AdmissionServer } from "../src/admission/server.ts";
import { listenLocally } from "./local-server.ts";
import { until } from "../../cluster/test/operator-api.ts";

const body = JSON.stringify({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  request: { uid: "u" },
});

describe("anybody in the cluster may connect; the API server is answered all the same", () => {
  let server: AdmissionServer;
  let port = 0;
  let ca = "";
  let dropped = 0;
  let isHeld = Promise.withResolvers<void>();
  const sockets: Socket[] = [];

  before(async () => {
    const onDrop = (): void => void dropped++;
    server = new AdmissionServer({
      onDrop,
      mutate: () => ({ allowed: true }),
      validate: () => ({ allowed: true }),
      guarded: [
        {
          isTrustedPath: () => true,
          review: async () => {
            await isHeld.promise;
            return { allowed: true };
          },
        },
      ],
      notReady: () => undefined,
    });
    ({ port, ca } = await listenLocally(server));
  });
  after(() => server.close());

  function ask(path = "/mutate", agent: Agent | false = false): Promise<string> {
    return new Promise((resolve, reject) => {
      const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
      const options = {
        host: "127.0.0.1",
        servername: "localhost",
        port,
        path,
        method: "POST",
        headers,
        agent,
        ca,
      };
      const request = httpsRequest(options, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("end", () => resolve(text));
        response.on("error", reject);
      });
      request.on("error", reject);
      request.end(body);
    });
  }

  async function opened(): Promise<TLSSocket> {
    const socket = tlsConnect({ host: "127.0.0.1", servername: "localhost", port, ca });
    socket.on("error", () => undefined);
    sockets.push(socket);
    await once(socket, "secureConnect");
    return socket;
  }

  async function left(): Promise<void> {
    for (const socket of sockets.splice(0)) socket.destroy();
    await until(
      () => (server.server as unknown as { _connections: number })._connections === 0,
      "nobody is left",
    );
    dropped = 0;
  }

  it("a client that connects to the webhook and says nothing is cut off", async () => {
    const silent = connect(port, "127.0.0.1");
    sockets.push(silent);
    silent.on("error", () => undefined);
    const shakenHands = await opened();
    let ended = 0;
    for (const socket of [silent, shakenHands]) socket.once("close", () => ended++);
    silent.resume();
    shakenHands.resume();
    await until(() => ended === 2, "both are cut off");
    await left();
  });

  it("a client that sends the webhook a body without an end is cut off", async () => {
    const slow = await opened();
    slow.resume();
    slow.write(
      "POST /mutate HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n",
    );
    const closed = new Promise((resolve) => slow.once("close", resolve));
    const trickle = setInterval(() => slow.write(" "), 200);
    await closed.finally(() => clearInterval(trickle));
    assert.match(await ask(), /"allowed":true/);
    await left();
  });

  it("when too many bodies are being sent to the webhook, the first ones are given up", async () => {
    const size = 7 * 1024 * 1024;
    const part = Buffer.alloc(size, " ");
    for (let index = 0; index < 12; index++) {
      const slow = await opened();
      slow.resume();
      slow.write(
        `POST /mutate HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${size + 1}\r\n\r\n`,
      );
      slow.write(part);
    }
    await until(() => dropped >= 8, "eight of twelve");
    assert.equal(dropped, 8);
    assert.match(await ask(), /"allowed":true/);
    assert.equal(dropped, 8, "whoever is quick is not given up");
    await left();
  });

  it("when too many connections lead to the webhook, those go that were of no use for longest, and none that waits for its answer", async () => {
    isHeld = Promise.withResolvers<void>();
    const held = ask("/hold/secret");
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let index = 0; index < 600; index++) {
      const socket = connect(port, "127.0.0.1");
      socket.on("error", () => undefined);
      socket.resume();
      sockets.push(socket);
      if (index % 50 === 0) assert.match(await ask("/mutate", agent), /"allowed":true/);
    }
    await until(() => dropped >= 90, "some are given up");
    assert.match(await ask("/mutate", agent), /"allowed":true/);
    assert.match(await ask(), /"allowed":true/);
    isHeld.resolve();
    assert.match(await held, /"allowed":true/);
    agent.destroy();
    await left();
  });

  it("headers without an end, pipelines and bytes that are no HTTP end only their own connection to the webhook", async () => {
    for (const text of [
      `POST /mutate HTTP/1.1\r\n${"x: y\r\n".repeat(5_000)}\r\n`,
      `POST /mutate HTTP/1.1\r\nx: ${"y".repeat(100_000)}\r\n\r\n`,
      `POST /${"a".repeat(100_000)} HTTP/1.1\r\n\r\n`,
      "no HTTP\r\n\r\n",
      "POST /mutate HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
      "POST /mutate HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ]) {
      const socket = await opened();
      socket.resume();
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.write(text);
      await closed;
      assert.match(await ask(), /"allowed":true/, text.slice(0, 40));
    }
    const pipelining = await opened();
    pipelining.resume();
    const ended = new Promise((resolve) => pipelining.once("close", resolve));
    const one = `POST /mutate HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    pipelining.write(one.repeat(200));
    await ended;
    assert.match(await ask(), /"allowed":true/, "others are answered");
    await left();
  });
});
