import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type Socket } from "node:net";
import { test } from "node:test";
import { UnclassifiedConnections } from "../src/protocols/unclassified-connections.ts";

/** What a server sees of new connections, and what is made of it. `next` opens one, which asks at once. */
function connections() {
  const server = createServer();
  const arrivals: { sender: string; at: number | undefined }[] = [];
  let now = 0;
  let asked = 0;
  const traffic = {
    connection: (sender: string, at?: number) => void arrivals.push({ sender, at }),
    request() {},
    asked() {},
    inFlight() {},
  };
  const isProbe = ({ url }: { url?: string | undefined }): boolean => url === "/probe";
  const unclassified = new UnclassifiedConnections(server, {
    traffic,
    isProbe,
    isStream: () => false,
    holds: false,
    spreads: false,

    isHolding: false,
    stoppedAt: Infinity,
    now: () => now,
    random: Math.random,
  });
  const next = (address: string, url = "/"): void => {
    const socket = {
      get remoteAddress() {
        asked++;
        return address;
      },
      remoteFamily: "IPv4",
      remotePort: 1,
    } as Socket;
    unclassified.opened(socket);
    unclassified.firstRequest(socket, { url } as never);
  };
  const of = (sender: string): number => arrivals.filter((arrival) => arrival.sender === sender).length;
  return {
    server,
    unclassified,
    arrivals,
    next,
    of,
    pass: (milliseconds: number) => (now += milliseconds),
    asked: () => asked,
  };
}

test("of too many connections a share is looked at, and the others spread alike over their senders and the time", () => {
  const { unclassified, arrivals, next, of, pass, asked } = connections();
  for (let count = 0; count < 5_000; count++) next(count % 5 === 0 ? "a" : "b");
  assert.equal(asked(), 250);
  assert.equal(arrivals.length, 250, "the others are only counted");
  pass(475);
  unclassified.classifyAll();
  assert.deepEqual([of("a"), of("b")], [1_000, 4_000]);
  const times = arrivals.slice(250).map(({ at = NaN }) => at);
  assert.deepEqual([times[0], times.at(-1)], [0.1, 475]);
  assert.ok(times.every((at, index) => index === 0 || at > times[index - 1]!));
  for (let count = 0; count < 1_000; count++) next("c");
  assert.equal(of("c"), 1_000, "in the hold each is looked at");
  assert.equal(asked(), 1_250);
  unclassified.stop();
});

test("too many connections of probes alone are no traffic", () => {
  const { unclassified, arrivals, next } = connections();
  for (let count = 0; count < 1_000; count++) next("kubelet", "/probe");
  unclassified.classifyAll();
  assert.deepEqual(arrivals, []);
  unclassified.stop();
});

test("a stretch of many connections is followed by another", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { unclassified, next, of, pass } = connections();
  unclassified.opened({ remoteAddress: "mute" } as Socket);
  for (let count = 0; count < 999; count++) next("a");
  pass(500);
  t.mock.timers.tick(500);
  assert.equal(of("mute"), 0, "what it may have sent meanwhile is read first");
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([of("a"), of("mute")], [999, 1], "one that has sent nothing yet is an arrival, too");
  next("b");
  assert.equal(of("b"), 1, "again some are looked at");
  unclassified.stop();
});

test("a listener for requests is there while a connection is waited for, if the application has one", () => {
  const { server, unclassified, next } = connections();
  const ours = (): number => server.listeners("request").filter((each) => each !== served).length;
  const served = (): void => {};
  unclassified.opened({} as Socket);
  assert.equal(ours(), 0, "none of the application's: none of ours");
  server.on("request", served);
  const mute = {} as Socket;
  unclassified.opened(mute);
  next("a");
  assert.equal(ours(), 1);
  unclassified.closed(mute);
  assert.equal(ours(), 1, "the first is still waited for");
  unclassified.classifyAll();
  assert.equal(ours(), 0, "in the hold it is told of requests otherwise");
  next("b");
  assert.equal(ours(), 0);
  unclassified.stop();
});
