import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import test from "node:test";
import { setImmediate } from "node:timers/promises";
import type { KubernetesClient } from "@lameduck/kube";
import { limitUnheard } from "../src/limits.ts";
import { Tokens } from "../src/tokens.ts";

test("made-up tokens that come at once are not all asked about, and another address's token does not wait for them", async () => {
  const counts = { reviews: 0, left: 2_000 };
  const answered: (() => void)[] = [];
  const post = async (_path: string, { spec: { token } }: { spec: { token: string } }): Promise<unknown> => {
    counts.reviews++;
    if (token === "good")
      return {
        status: {
          authenticated: true,
          audiences: ["lameduck"],
          user: { username: "system:serviceaccount:a:b" },
        },
      };
    await new Promise<void>((resolve) => answered.push(resolve));
    return { status: { authenticated: false } };
  };
  const client = { post } as unknown as KubernetesClient;
  const tokens = new Tokens(client, { now: Date.now, onReview: () => undefined });
  const flood = Array.from({ length: counts.left }, (_, at) =>
    tokens.identityOf(`made-up-${at}`, "10.0.0.7").finally(() => counts.left--),
  );
  assert.equal((await tokens.identityOf("good", "10.0.0.8"))?.account, "a/b");
  assert.ok(counts.left > 0 && counts.left <= 208, `${counts.left} of them wait`);
  while (counts.left > 0) {
    answered.splice(0).forEach((answer) => answer());
    await setImmediate();
  }
  assert.deepEqual(new Set(await Promise.all(flood)), new Set([undefined]));
  assert.ok(counts.reviews < 40, `${counts.reviews} reviews`);
});

test("connections that ask nothing give way to those that come, and those that have asked stay", async () => {
  const server = createServer();
  limitUnheard(server, 3);
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
