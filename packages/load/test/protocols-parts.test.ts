import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { EventReader } from "../src/protocols/event-reader.ts";
import {
  loadProtocols,
  protocolTraits,
  parseLoad,
  checkSenders,
  LoadError,
  type SenderSpec,
} from "../src/index.ts";
import { clientFrame, closeCode, FrameReader } from "../src/protocols/websocket-frames.ts";
import { account, type RequestRecord } from "@lameduck/accounting";
import { recording, request } from "../../accounting/test/accounting-recording.ts";

/** The bytes in pieces cut at random places. */
const pieces = (bytes: Buffer, cuts: readonly number[]): Buffer[] => {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, index) => bytes.subarray(from, places[index] ?? bytes.length));
};

test("the events of a stream are the same in whatever pieces and with whatever line ends they come", () => {
  const block = fc.constantFrom(
    { text: "data: x|", events: 1 },
    { text: "id: 1|event: e|data:|data: y|", events: 1 },
    { text: ": comment|", events: 0 },
    { text: "retry: 10|", events: 0 },
  );
  fc.assert(
    fc.property(
      fc.array(block),
      fc.constantFrom("\n", "\r\n", "\r"),
      fc.array(fc.nat()),
      fc.constantFrom("", "data: ha", "id", ": half a comment"),
      (blocks, newline, cuts, rest) => {
        const text = blocks.map((one) => `${one.text}|`).join("") + rest;
        const reader = new EventReader();
        for (const piece of pieces(Buffer.from(text.replaceAll("|", newline)), cuts))
          reader.push(piece, 0, piece.length);
        assert.equal(
          reader.events,
          blocks.reduce((sum, one) => sum + one.events, 0),
        );
        assert.equal(reader.between, rest === "" || rest.startsWith(":"));
      },
    ),
  );
});

test("the frames of a server are the same in whatever pieces they come", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom(1, 2, 8, 9, 10), fc.uint8Array({ maxLength: 300 }))),
      fc.array(fc.nat()),
      (sent, cuts) => {
        const bytes = Buffer.concat(
          sent.map(([opcode, payload]) =>
            Buffer.concat([
              payload.length < 126
                ? Buffer.from([0x80 | opcode, payload.length])
                : Buffer.from([0x80 | opcode, 126, payload.length >> 8, payload.length & 255]),
              payload,
            ]),
          ),
        );
        const reader = new FrameReader();
        const read = pieces(bytes, cuts).flatMap((piece) => reader.push(piece));
        assert.deepEqual(
          read.map(({ opcode, payload }) => [opcode, [...payload]]),
          sent.map(([opcode, payload]) => [opcode, [...payload]]),
        );
      },
    ),
  );
  assert.equal(closeCode(Buffer.from([0x03, 0xe9])), 1001);
  assert.equal(closeCode(Buffer.alloc(0)), 1005);
  const frame = clientFrame(1, Buffer.from("hello"));
  const unmasked = [...frame.subarray(6)].map((byte, index) => byte ^ frame.readUInt8(2 + (index & 3)));
  assert.equal(String.fromCharCode(...unmasked), "hello");
});

const problem = (work: () => unknown): LoadError => {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof LoadError);
    return error;
  }
  throw new assert.AssertionError({ message: "it was accepted" });
};

test("a setting that a protocol does not have is refused with the place", () => {
  const unknown = problem(() => parseLoad({ rate: 1, protocol: "spdy" as never }));
  assert.deepEqual([unknown.code, unknown.place], ["LAMEDUCK_BAD_LOAD", "load.protocol"]);
  for (const protocol of loadProtocols) {
    const plan = parseLoad({ rate: 1, protocol });
    assert.equal(plan.paths.quick, protocolTraits[protocol].path);
    if (!protocolTraits[protocol].kinds)
      assert.equal(problem(() => parseLoad({ rate: 1, protocol, slowShare: 0.1 })).place, "load.slowShare");
    for (const kind of ["l7", "haproxy", "nginx"] as const) {
      const check = (): void => checkSenders([{ name: "in", kind }], protocol);
      if (protocol === "http") check();
      else assert.equal(problem(check).code, "LAMEDUCK_SENDER_PROTOCOL");
    }
    for (const kind of ["l4", "l4-cut", "client", "health-checked"] as const)
      checkSenders([{ name: "s", kind }], protocol);
  }
  const checked: SenderSpec = { name: "lb", kind: "health-checked", check: { path: "/healthz" } };
  assert.equal(problem(() => checkSenders([checked], "grpc")).place, 'sender "lb": check.path');
  checkSenders([checked], "sse");
});

test("losses of other protocols have the same causes as those of HTTP", () => {
  const cause = (record: RequestRecord): readonly [string, string] => {
    const result = account(recording({ records: [record] }), { description: "", seed: 1 });
    const [lost] = result.lostRequests;
    assert.ok(lost);
    return [lost.cause, lost.sentence];
  };
  const [unavailable, why] = cause(
    request(10_500, { outcome: "bad-status", status: 14, error: "UNAVAILABLE" }),
  );
  assert.equal(unavailable, "C1");
  assert.match(why, /^14 \(UNAVAILABLE\): node-1 still chose web-1 500 ms after its deletion/);
  const [cut, sentence] = cause(
    request(12_000, {
      sent: 2_000,
      connected: 2_000,
      finished: 12_000,
      kind: "session",
      mode: "pooled",
      outcome: "truncated",
      error: "WS_1006",
    }),
  );
  assert.equal(cut, "C4");
  assert.equal(
    sentence,
    "a lasting connection ended after 10.0 s (WS_1006): node-1 had it to web-1 when web-1 exited (code 0)",
  );
});
