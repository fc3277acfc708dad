import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { describe, it } from "node:test";
import { addressAt, ClientAgent } from "../matrix/load/client-agent.ts";

/** All of it belongs to every machine. */
const clients = { range: "127.1.255.0/24", count: 300 };

describe("load from many addresses", () => {
  it("a pool of client addresses counts on over the end of a byte", () => {
    assert.equal(addressAt(clients, 0), "127.1.255.0");
    assert.equal(addressAt(clients, 255), "127.1.255.255");
    assert.equal(addressAt(clients, 299), "127.2.0.43");
  });

  it("a pool of client addresses gives each new connection an address of its own, and a kept one stays its client's", async () => {
    const seen: string[] = [];
    const server = createServer(({ socket }, response) => {
      seen.push(socket.remoteAddress ?? "");
      response.end();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const ask = async (agent: ClientAgent): Promise<void> => {
      const [response] = (await once(request({ port, host: "127.0.0.1", agent }).end(), "response")) as [
        NodeJS.ReadableStream,
      ];
      response.resume();
      await once(response, "end");
    };
    const fresh = new ClientAgent({ keepAlive: false }, clients);
    for (let index = 0; index < 20; index++) await ask(fresh);
    // Of 300 addresses 20 draws are nearly all different.
    assert.ok(new Set(seen).size > 10, seen.join());
    assert.ok(seen.every((address) => /^127\.[12]\./.test(address)));
    seen.length = 0;
    const pool = new ClientAgent({ keepAlive: true }, clients);
    for (let index = 0; index < 5; index++) await ask(pool);
    assert.equal(new Set(seen).size, 1);
    pool.destroy();
    server.close();
    await once(server, "close");
  });
});
