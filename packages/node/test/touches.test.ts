import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { lameduck } from "../src/index.ts";
import { ask } from "./ask.ts";
import { fixture, inPod, startCounted } from "./child.ts";
import { bystanders, conversations } from "./conversations.ts";

const register = fileURLToPath(new URL("../src/register.ts", import.meta.url));

const nothing = "nothing";
const removal = "removeAllListeners() takes listeners one by one, to the same end";
const signal = "the signal no longer ends the process, which is what this package is for";

/**
 * Every listener that is added to objects of Node before SIGTERM, and what its presence changes. Node counts the listeners of some events
 * (checkContinue, clientError, connect, timeout, unknownProtocol and others) to choose what it does: none of those may come in here.
 */
const listeners: Record<string, string> = {
  "Server: connection": nothing,
  "Server: secureConnection": nothing,
  "Server: close": nothing,
  "Server: newListener": nothing,
  "Server: removeListener": removal,
  "Server: request":
    "nothing; only beside one of the application's, while a new connection has not sent its first request",
  "Server: upgrade":
    "Node upgrades only where somebody listens, so it is added only beside one of the application's",
  "Server: connect":
    "Node opens tunnels only where somebody listens, so it is added only beside one of the application's",
  "Http2Server: session": nothing,
  "Http2Server: close": nothing,
  "Http2SecureServer: session": nothing,
  "Http2SecureServer: secureConnection": nothing,
  "Http2SecureServer: close": nothing,
  "Http2SecureServer: newListener": nothing,
  "Http2SecureServer: removeListener": removal,
  "Http2SecureServer: request":
    "the first one makes requests of streams: only beside one of the application's, and with allowHTTP1",
  "ServerHttp2Session: stream": nothing,
  "ServerHttp2Session: close": nothing,
  "ServerHttp2Session: ping": nothing,
  "ServerHttp2Stream: close": nothing,
  "Socket: close": `${nothing}; of what was upgraded`,
  "Socket: end": `${nothing}; of one of our own, by which internals.ts learns what this Node has`,
  "TLSSocket: close": nothing,
  "EventEmitter: fork": "nothing; of node:cluster",
  "process: SIGTERM": signal,
  "process: SIGINT": signal,
  "process: newListener": "nothing: the two above take none of the places that Node allows without a warning",
  "process: removeListener": "process.removeAllListeners() takes the two above only for a moment",
};

/** Own properties that objects have only with us, and what each changes. */
const properties: Record<string, string> = {
  "Server: Symbol(@lameduck/node:watched)": nothing,
  "Http2Server: Symbol(@lameduck/node:watched)": nothing,
  "Http2SecureServer: Symbol(@lameduck/node:watched)": nothing,
  "process: Symbol(@lameduck/node:holders)": nothing,
  "process: Symbol(@lameduck/node:signals)": nothing,
  "process: emit": "SIGTERM waits for the hold; anything else is passed on",
};

const channels: Record<string, string> = {
  "tracing:net.server.listen:asyncStart": "Node makes an object for each listen()",
};

interface Touched {
  listeners: string[];
  properties: Record<string, string[]>;
  channels: string[];
}

async function touched(more: readonly string[]): Promise<Touched> {
  await using child = await startCounted(
    ["--import", fixture("touches.mjs"), ...more, fixture("bystander.ts")],
    { ...inPod, LAMEDUCK_GRACE_PERIOD: "30s" },
  );
  for (const { server, hold } of conversations) await hold(child.ports[bystanders.indexOf(server)]!);
  child.process.send?.("touched");
  for (;;) {
    const [message] = (await once(child.process, "message")) as [Partial<Touched>];
    if (message.listeners) return message as Touched;
  }
}

test("what is touched before SIGTERM is in the table, with what that changes", async () => {
  const [without, attached] = await Promise.all([touched([]), touched(["--import", register])]);
  assert.deepEqual(attached.listeners.toSorted(), Object.keys(listeners).toSorted());
  assert.deepEqual(attached.channels, [...without.channels, ...Object.keys(channels)]);
  const added = Object.entries(attached.properties).flatMap(([name, keys]) =>
    keys
      .filter((key) => !without.properties[name]?.includes(key))
      .map((key) => `${name}: ${key.replace(/:\d+\)$/, ")")}`),
  );
  assert.deepEqual(added.toSorted(), Object.keys(properties).toSorted());
});

test("a request on a kept connection runs nothing of ours, however often others connect", async (t) => {
  let ours = 0;
  const server = createServer((_request, response) => response.end("ok\n"));
  const emit = server.emit.bind(server) as (...args: unknown[]) => boolean;
  server.emit = (...args: unknown[]): boolean => {
    if (args[0] === "request") ours += server.listenerCount("request") - 1;
    return emit(...args);
  };
  const duck = lameduck(server, { log: false, exit: false, signals: false, environment: {} });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => {
    agent.destroy();
    duck.detach();
    server.close();
  });
  await ask(port, "/", agent);
  for (let round = 0; round < 20; round++) {
    await ask(port);
    for (let request = 0; request < 20; request++) await ask(port, "/", agent);
  }
  assert.equal(ours, 21, "once for each connection");
});
