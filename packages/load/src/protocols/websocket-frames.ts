import { randomBytes } from "node:crypto";

/** A frame of RFC 6455, 5.2, as a server sends it. */
export interface Frame {
  readonly opcode: number;
  readonly payload: Buffer;
}

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** A masked frame, as a client must send it. Short messages only: up to 125 bytes. */
export function clientFrame(opcode: number, payload: Buffer): Buffer {
  const mask = randomBytes(4);
  const frame = Buffer.alloc(6 + payload.length);
  frame[0] = 0x80 | opcode;
  frame[1] = 0x80 | payload.length;
  mask.copy(frame, 2);
  for (let index = 0; index < payload.length; index++) frame[6 + index] = payload[index]! ^ mask[index & 3]!;
  return frame;
}

/** The code of a close frame; 1005 where it has none. */
export function closeCode(payload: Buffer): number {
  return payload.length >= 2 ? payload.readUInt16BE(0) : 1005;
}

/** Takes a server's frames out of the bytes, in whatever pieces they come. Fragments are given one by one. */
export class FrameReader {
  #bytes: Buffer = Buffer.alloc(0);

  push(bytes: Buffer): Frame[] {
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes]);
    const frames: Frame[] = [];
    for (let frame = this.#next(); frame; frame = this.#next()) frames.push(frame);
    return frames;
  }

  #next(): Frame | undefined {
    const bytes = this.#bytes;
    if (bytes.length < 2) return undefined;
    const short = bytes[1]! & 0x7f;
    const head = short === 127 ? 10 : short === 126 ? 4 : 2;
    if (bytes.length < head) return undefined;
    const length =
      short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short;
    if (bytes.length < head + length) return undefined;
    this.#bytes = bytes.subarray(head + length);
    return { opcode: bytes[0]! & 0x0f, payload: bytes.subarray(head, head + length) };
  }
}
