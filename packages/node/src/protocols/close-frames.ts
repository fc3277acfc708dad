import type { Socket } from "node:net";

/** A WebSocket close frame of a server: 1001, "going away" (RFC 6455, 5.5.1 and 7.4.1). */
export const goingAway = Buffer.from([0x88, 0x02, 0x03, 0xe9]);

const closing = 0x88;
/** Length fields of a frame's second byte that say that the length follows, and in how many bytes. */
const longer: Readonly<Record<number, number>> = { 126: 2, 127: 8 };

/**
 * Follows the frames that an application writes to a WebSocket. A close frame without a code becomes 1001: `close()` of the library `ws` writes such
 * a frame, and clients then do not learn that they are to come back elsewhere. Codes that the application gives are left as they are.
 *
 * The next write has to begin a frame. Whatever is no frame of a server, or is cut within its head, ends the following.
 * @param closed called once a close frame is written.
 */
export function nameCloseFrames(socket: Socket, closed: () => void): void {
  // oxlint-disable-next-line typescript/unbound-method -- called with its own `this`, and put back as it was
  const { write } = socket;
  /** Bytes of the frame that is being written. */
  let left = 0;
  const following = ((chunk: unknown, ...rest: unknown[]): boolean => {
    const bytes = bytesOf(chunk, rest[0]);
    const named = bytes && name(bytes);
    // The encoding belongs to the text, and bytes have none.
    if (named)
      return Reflect.apply(
        write,
        socket,
        typeof chunk === "string" ? [named, ...rest.slice(1)] : [named, ...rest],
      ) as boolean;
    return Reflect.apply(write, socket, [chunk, ...rest]) as boolean;
  }) as typeof write;
  const stop = (): undefined => void (socket.write === following && (socket.write = write));
  /** @returns the same with a code, where a close frame has none. */
  const name = (bytes: Uint8Array): Buffer | undefined => {
    let at = left;
    while (at < bytes.length) {
      const [first = 0, second = 0] = bytes.subarray(at, at + 2);
      const isBare = first === closing && second === 0;
      const length = at + 2 > bytes.length ? undefined : lengthAt(bytes, at, second);
      if (length === undefined) return stop();
      if (first === closing) {
        stop();
        closed();
        if (!isBare) return undefined;
        return Buffer.concat([bytes.subarray(0, at), goingAway, bytes.subarray(at + 2)]);
      }
      at += length;
    }
    left = at - bytes.length;
    return undefined;
  };
  socket.write = following;
}

/** The length of a frame, its head included; undefined where the head is cut, or is none of a server. */
function lengthAt(bytes: Uint8Array, at: number, second: number): number | undefined {
  const size = longer[second] ?? 0;
  // Frames of a server are not masked.
  if (second > 127 || at + 2 + size > bytes.length) return undefined;
  if (size === 0) return 2 + second;
  let payload = 0;
  for (const byte of bytes.subarray(at + 2, at + 2 + size)) payload = payload * 256 + byte;
  return 2 + size + payload;
}

function bytesOf(chunk: unknown, encoding: unknown): Uint8Array | undefined {
  if (chunk instanceof Uint8Array) return chunk;
  if (typeof chunk !== "string") return undefined;
  return Buffer.from(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8");
}
