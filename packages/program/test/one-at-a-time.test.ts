import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { test } from "node:test";
import { answerOneAtATime } from "../src/index.ts";

interface Talk extends AsyncDisposable {
  readonly server: Server;
  readonly socket: Socket;
  /** Paths that the listener was asked for. */
  readonly asked: readonly string[];
  /** What has come back so far. */
  readonly text: () => string;
}

async function talk(onUpgrade?: (socket: Socket, head: Buffer) => void): Promise<Talk> {
  const asked: string[] = [];
  const server = createServer();
  answerOneAtATime(
    server,
    (request, response) => {
      asked.push(request.url ?? "");
      request.resume().on("end", () => setImmediate(() => response.end("done")));
    },
    onUpgrade && ((_request, upgraded, head) => onUpgrade(upgraded, head)),
  );
  await once(server.listen(0, "127.0.0.1"), "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  socket.on("error", () => undefined);
  return {
    server,
    socket,
    asked,
    text: () => text,
    async [Symbol.asyncDispose]() {
      socket.destroy();
      await once(server.close(), "close");
    },
  };
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`;

test("requests that come one after another on a connection are answered, large ones, too", async () => {
  await using one = await talk();
  for (const round of [1, 2, 3]) {
    one.socket.write(
      `POST /${round} HTTP/1.1\r\nhost: a\r\ncontent-length: 30000\r\n\r\n${"x".repeat(30_000)}`,
    );
    while (one.text().split("done").length <= round) await once(one.socket, "data");
  }
  assert.deepEqual(one.asked, ["/1", "/2", "/3"]);
});

test("a connection that sends its next request too early is ended, and no more of it is parsed", async () => {
  await using one = await talk();
  let parsed = 0;
  one.server.on("request", () => parsed++);
  one.socket.write(get("/first") + get("/next").repeat(1_500));
  await once(one.socket, "close");
  assert.deepEqual(one.asked, ["/first"]);
  assert.ok(parsed < 200, `${parsed} requests were parsed`);
});

test("what follows an upgrade is read as it came, whether it comes with the request or later", async () => {
  let read = "";
  await using one = await talk((socket, head) => {
    read += head.toString();
    socket.on("end", () => socket.end());
    // As one that first looks up who this is.
    setImmediate(() =>
      socket.on("data", (chunk: Buffer) => void socket.write(String((read += chunk).length))),
    );
  });
  const head = "GET / HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: x\r\n\r\n";
  const lines = Array.from({ length: 3_000 }, (_, at) => `${at}\n`).join("");
  one.socket.write(head + lines);
  while (!one.text().endsWith(String(lines.length))) await once(one.socket, "data");
  one.socket.write("later");
  while (!one.text().endsWith(String(lines.length + 5))) await once(one.socket, "data");
  assert.equal(read, `${lines}later`);
  assert.deepEqual(one.asked, []);
});
