import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { classify } from "../src/protocols/failures.ts";
import { parseLoad } from "../src/index.ts";
import { readRecords, RecordTable } from "../src/generator/records.ts";
import type { Finished } from "../src/protocols/exchange.ts";
import { ResponseReader } from "../src/protocols/response.ts";
import { Schedule, type Slot } from "../src/generator/schedule.ts";
import { random } from "@lameduck/accounting";

test("the random numbers follow from seed and labels, and are even", () => {
  const take = (seed: number, ...labels: string[]): number[] => {
    const from = random(seed, ...labels);
    return Array.from({ length: 20_000 }, () => from.next());
  };
  assert.deepEqual(take(1, "a"), take(1, "a"));
  assert.notDeepEqual(take(1, "a"), take(1, "b"));
  assert.notDeepEqual(take(1, "a"), take(2, "a"));
  // Pinned: results are published with their seeds.
  assert.deepEqual(take(1, "a").slice(0, 2), [0.9635447959881276, 0.28996239718981087]);
  const values = take(42, "x");
  assert.ok(values.every((value) => value >= 0 && value < 1));
  assert.ok(Math.abs(values.reduce((sum, value) => sum + value, 0) / values.length - 0.5) < 0.01);
  const normal = random(3);
  const normals = Array.from({ length: 20_000 }, () => normal.normal());
  const variance = normals.reduce((sum, value) => sum + value * value, 0) / normals.length;
  assert.ok(Math.abs(variance - 1) < 0.05);
});

function slots(options: Parameters<typeof parseLoad>[0], seed: number, senders = 1): Slot[] {
  const schedule = new Schedule(parseLoad(options), senders, seed);
  const taken: Slot[] = [];
  while (schedule.due !== Infinity) taken.push(schedule.take());
  return taken;
}

test("a schedule keeps its rate, shares and bounds", () => {
  const taken = slots(
    { rate: 1_000, pooledShare: 0.3, slowShare: 0.1, largeShare: 0.05, maxDuration: "20s" },
    9,
    4,
  );
  const about = (part: number, whole: number): void =>
    assert.ok(Math.abs(part / taken.length - whole) < 0.02, `${part}`);
  assert.ok(Math.abs(taken.length - 20_000) < 600);
  about(taken.filter((slot) => slot.mode === "pooled").length, 0.3);
  about(taken.filter((slot) => slot.kind === "slow").length, 0.1);
  about(taken.filter((slot) => slot.kind === "large").length, 0.05);
  about(taken.filter((slot) => slot.sender === 3).length, 0.25);
  assert.ok(taken.every((slot, index) => slot.at >= (taken[index - 1]?.at ?? 0) && slot.at <= 20_000));
  assert.equal(slots({ rate: 1_000, maxRequests: 17 }, 1).length, 17);
});

test("fixed arrivals are evenly spaced, the same for the same seed, and not moved by shares", () => {
  assert.deepEqual(
    slots({ rate: 100, arrivals: "fixed", maxRequests: 4 }, 1).map((slot) => slot.at),
    [0, 10, 20, 30],
  );
  const plan = { rate: 50, maxRequests: 200 };
  assert.deepEqual(slots(plan, 4), slots(plan, 4));
  assert.deepEqual(
    slots(plan, 4).map((slot) => slot.at),
    slots({ ...plan, pooledShare: 0.9, slowShare: 0.5 }, 4).map((slot) => slot.at),
  );
  assert.notDeepEqual(slots(plan, 4), slots(plan, 5));
});

const answers: readonly (readonly [
  string,
  string,
  Partial<Pick<ResponseReader, "status" | "keepAlive" | "body" | "text">>,
])[] = [
  [
    "a length",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    { status: 200, keepAlive: true, body: 5, text: "hello" },
  ],
  [
    "chunks",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nX: y\r\n\r\n",
    { body: 5, text: "hello" },
  ],
  [
    "chunks of something packed",
    "HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    { keepAlive: true, body: 5, text: "hello" },
  ],
  [
    "no body",
    "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
    { status: 204, keepAlive: false, body: 0 },
  ],
  [
    "an interim answer",
    "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length:0\r\n\r\n",
    { status: 200, body: 0 },
  ],
  [
    "HTTP/1.0 that stays",
    "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx",
    { keepAlive: true, body: 1 },
  ],
  [
    "an empty body",
    "HTTP/1.1 500 No\r\nContent-Length: 0\r\nX-Lameduck-Pod: web-1\r\n\r\n",
    { status: 500, body: 0 },
  ],
];

for (const [name, text, expected] of answers)
  test(`an answer with ${name} is read alike however it is cut into pieces`, () => {
    fc.assert(
      fc.property(fc.array(fc.nat(text.length), { maxLength: 8 }), (cuts) => {
        const reader = new ResponseReader();
        reader.reset(100);
        // One buffer for all pieces, as the sockets share one: stale bytes lie behind each piece.
        const buffer = Buffer.alloc(1_000, "\n");
        const ends = [...new Set([...cuts, text.length])].sort((a, b) => a - b);
        let from = 0;
        for (const end of ends) {
          assert.equal(reader.complete, false);
          const length = buffer.write(text.slice(from, end), "latin1");
          assert.equal(reader.push(buffer, length), length);
          from = end;
        }
        assert.equal(reader.complete, true);
        for (const [key, value] of Object.entries(expected))
          assert.equal(reader[key as keyof typeof expected], value, key);
      }),
    );
  });

test("of the headers that name a server the surest counts, in whatever order they come", () => {
  const claimOf = (...lines: readonly string[]): string | undefined => {
    const reader = new ResponseReader();
    reader.reset(0);
    const text = `HTTP/1.1 204 x\r\n${lines.join("\r\n")}\r\n\r\n`;
    reader.push(Buffer.from(text), text.length);
    return reader.reported.claim;
  };
  assert.equal(claimOf("X-Served-By: cache-1", "X-Pod-Name: web-1"), "web-1");
  assert.equal(claimOf("X-Pod-Name: web-1", "X-Served-By: cache-1"), "web-1");
  assert.equal(claimOf("X-Pod-Name:", "X-Served-By: cache-1"), "cache-1");
  assert.equal(claimOf("X-Pod: web-1", "X-Pod: web-2"), "web-1");
  assert.equal(claimOf("Server: x"), undefined);
});

test("a body without an end of its own ends with the connection; one with an end does not", () => {
  const read = (text: string): ResponseReader => {
    const reader = new ResponseReader();
    reader.reset(0);
    reader.push(Buffer.from(text), text.length);
    return reader;
  };
  assert.equal(read("HTTP/1.1 200 OK\r\n\r\nabc").end(), true);
  assert.equal(read("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc").end(), false);
  assert.equal(read("HTTP/1.1 200 OK\r\n").end(), false);
  assert.equal(read("220 mail\r\n").invalid, true);
  const more = new ResponseReader();
  more.reset(0);
  assert.equal(more.push(Buffer.from("HTTP/1.1 204 x\r\n\r\nrest"), 22), 18);
});

test("records of requests are the same after they were written to their table and read back", () => {
  const optional = <T>(some: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
    fc.option(some, { nil: undefined });
  const time = fc.double({ min: 0, max: 1e6, noNaN: true });
  const finished = fc.record({
    intended: time,
    fired: optional(time),
    sent: optional(time),
    finished: optional(time),
    mode: fc.constantFrom("new", "pooled"),
    kind: fc.constantFrom("quick", "slow", "large"),
    sender: fc.constantFrom(0, 1),
    pod: optional(fc.constantFrom("web-1", "web-2")),
    podKnownBy: fc.constantFrom(undefined, "choice", "header", "proxy"),
    connection: optional(fc.integer({ min: 1, max: 1e6 })),
    reused: fc.boolean(),
    connected: optional(time),
    outcome: fc.constantFrom("ok", "refused", "truncated", "not-sent"),
    status: optional(fc.integer({ min: 100, max: 599 })),
    error: optional(fc.constantFrom("ECONNREFUSED", "EOF")),
    received: fc.nat(),
    retries: optional(fc.nat(5)),
    endedBySender: fc.boolean(),
  }) as fc.Arbitrary<Finished>;
  fc.assert(
    fc.property(fc.array(finished, { maxLength: 20 }), (all) => {
      const table = new RecordTable();
      for (const each of all) table.write(table.begin(), each);
      const records = table.chunks.flatMap((chunk) => readRecords(chunk, 0, ["a", "b"], table.names));
      assert.equal(records.length, all.length);
      for (const [index, { fired: _, ...each }] of all.entries()) {
        const expected = Object.fromEntries(
          Object.entries({ ...each, sender: ["a", "b"][each.sender], id: index }).filter(
            ([key, value]) => value !== undefined && !(key === "endedBySender" && value === false),
          ),
        );
        assert.deepEqual(records[index], expected);
      }
    }),
  );
});

test("the outcome of an errno depends on how far the connection had come", () => {
  const early = { connected: false, received: 0 };
  assert.equal(classify("ECONNREFUSED", early).outcome, "refused");
  assert.equal(classify("EHOSTUNREACH", early).outcome, "unreachable");
  assert.equal(classify("ETIMEDOUT", early).outcome, "unreachable");
  for (const code of ["EMFILE", "ENFILE", "EADDRNOTAVAIL", "ENOBUFS"])
    assert.equal(classify(code, early).outcome, "not-sent");
  assert.equal(classify("EPIPE", { connected: true, received: 0 }).outcome, "reset-before-response");
  assert.equal(classify("EOF", { connected: true, received: 1 }).outcome, "truncated");
});

test("a body whose last coding is not chunks ends with the connection, whatever its length says", () => {
  const reader = new ResponseReader();
  reader.reset(100);
  const text = Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: gzip\r\n\r\nhello");
  reader.push(text, text.length);
  assert.deepEqual([reader.complete, reader.keepAlive, reader.body], [false, false, 5]);
  assert.equal(reader.end(), true);
});

test("an answer to HEAD has no body, whatever its length says", () => {
  const reader = new ResponseReader();
  reader.reset(0, true);
  const text = Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  assert.equal(reader.push(text, text.length), text.length);
  assert.deepEqual([reader.complete, reader.keepAlive], [true, true]);
});

for (const [title, options] of [
  ["a header without a name", { headers: [": x"] }],
  ["a header of two lines", { headers: ["x: a\r\ny: b"] }],
  ["a header of the connection's own", { headers: ["Content-Length: 3"] }],
  ["no method", { method: "FETCH" }],
  ["a GET with a body", { method: "GET", body: "aGk=" }],
  ["a WebSocket with a method", { protocol: "ws", method: "POST" }],
] as const)
  test(`a load with ${title} is refused`, () => {
    assert.throws(() => parseLoad({ rate: 1, ...options }), { code: "LAMEDUCK_BAD_LOAD" });
  });
