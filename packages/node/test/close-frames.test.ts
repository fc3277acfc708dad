import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { nameCloseFrames } from "../src/protocols/close-frames.ts";

/** What reaches the client of what is written in parts, and how often a close frame was seen. */
function written(parts: readonly (Buffer | [string, BufferEncoding])[]): { bytes: Buffer; closed: number } {
  const out: Buffer[] = [];
  const socket = {
    write(chunk: Buffer | string, encoding?: BufferEncoding) {
      out.push(typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk);
      return true;
    },
  };
  let closed = 0;
  nameCloseFrames(socket as unknown as Socket, () => closed++);
  for (const part of parts)
    if (Array.isArray(part)) socket.write(...part);
    else socket.write(part);
  return { bytes: Buffer.concat(out), closed };
}

function frame(first: number, payload: Buffer): [head: Buffer, payload: Buffer] {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = first;
  head[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return [head, payload];
}

const bare = Buffer.from([0x88, 0x00]);
const named = Buffer.from([0x88, 0x02, 0x03, 0xe9]);
const payloads = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.constantFrom(bare, Buffer.concat([bare, bare]), Buffer.alloc(70_000, 0x88)),
);

test("a close frame without a code becomes 1001, whatever was written before, and nothing else changes", () => {
  fc.assert(
    fc.property(fc.array(payloads, { maxLength: 8 }), fc.boolean(), fc.boolean(), (data, isSplit, isBare) => {
      const before = data.map((payload) => frame(0x82, Buffer.from(payload)));
      const close = isBare ? bare : Buffer.from([0x88, 0x02, 0x0f, 0xa0]);
      const frames = before.map((parts) => (isSplit ? parts : [Buffer.concat(parts)])).flat();
      const { bytes, closed } = written([...frames, close, Buffer.alloc(0)]);
      assert.equal(closed, 1);
      assert.ok(bytes.equals(Buffer.concat([...before.flat(), isBare ? named : close])));
    }),
  );
});

test("texts and several frames in one write are followed, and bytes that are no frame of a server are left alone", () => {
  const text = frame(0x81, Buffer.from("bye"));
  assert.ok(written([Buffer.concat([...text, bare])]).bytes.equals(Buffer.concat([...text, named])));
  assert.ok(written([["\u0088\u0000", "latin1"]]).bytes.equals(named));
  // A masked one, and half a head: from there on nothing is understood, and nothing changed.
  for (const first of [Buffer.from([0x82, 0x81, 0, 0, 0, 0, 1]), Buffer.from([0x82])])
    assert.ok(written([first, bare]).bytes.equals(Buffer.concat([first, bare])));
});
