import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import test from "node:test";
import { capSilent } from "../src/index.ts";

test("connections that ask nothing give way to those that come, and those that have asked stay", async () => {
  const server = createServer();
  capSilent(server, 3);
  server.on("request", (_request, response) => response.end());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  const open = async (first = ""): Promise<Socket> => {
    const socket = connect(port, "127.0.0.1").resume();
    sockets.push(socket);
    const accepted = once(server, "connection");
    socket.on("error", () => undefined).write(first || "G");
    await Promise.all([accepted, first === "" ? undefined : once(socket, "data")]);
    return socket;
  };
  try {
    const asked = await open("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    const oldest = await open();
    const gone = once(oldest, "close");
    for (let at = 0; at < 3; at++) await open();
    await gone;
    assert.deepEqual(
      sockets.filter(({ destroyed }) => destroyed),
      [oldest],
    );
    assert.equal(asked.destroyed, false);
  } finally {
    for (const socket of sockets) socket.destroy();
    await once(server.close(), "close");
  }
});
