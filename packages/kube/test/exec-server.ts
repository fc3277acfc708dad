import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";

/** What one command writes: pieces of channels, as an API server sends them. */
export interface Said {
  channel(number: 1 | 2 | 3, text: string): void;
  /** Bytes of any kind, as they are. */
  raw(bytes: Buffer): void;
  /** The last message, and the end of the connection. */
  exit(code: number): void;
  notStarted(message: string): void;
  cut(): void;
}

export type OnExec = (path: string, query: URLSearchParams, said: Said) => void | Promise<void>;

export interface ExecServer {
  readonly url: string;
  [Symbol.asyncDispose](): Promise<void>;
}

/** An API server that runs commands in containers: the exec of a pod becomes a WebSocket. */
export async function execServer(
  onExec: OnExec,
  onRequest: (request: IncomingMessage, response: ServerResponse) => void = (_, response) =>
    void response.writeHead(404, { "content-type": "application/json" }).end("{}"),
): Promise<ExecServer> {
  const server = createServer(onRequest);
  const sockets = new Set<Duplex>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => undefined);
  });
  server.on("upgrade", (request, socket) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://here");
    const key = `${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const head = [
      "HTTP/1.1 101 Switching Protocols",
      "Connection: Upgrade",
      "Upgrade: websocket",
      `Sec-WebSocket-Accept: ${createHash("sha1").update(key).digest("base64")}`,
      `Sec-WebSocket-Protocol: ${request.headers["sec-websocket-protocol"]}`,
    ];
    socket.write(`${head.join("\r\n")}\r\n\r\n`);
    void onExec(pathname, searchParams, saidOn(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function saidOn(socket: Duplex): Said {
  const channel: Said["channel"] = (number, text) =>
    void socket.write(frame(Buffer.concat([Buffer.from([number]), Buffer.from(text)])));
  const last = (status: object): void => {
    channel(3, JSON.stringify({ kind: "Status", ...status }));
    socket.end(frame(Buffer.from([0x03, 0xe8]), 8));
  };
  return {
    channel,
    raw: (bytes) => void socket.write(bytes),
    exit: (code) =>
      last(
        code === 0
          ? { status: "Success" }
          : {
              status: "Failure",
              reason: "NonZeroExitCode",
              details: { causes: [{ reason: "ExitCode", message: String(code) }] },
            },
      ),
    notStarted: (message) => last({ status: "Failure", reason: "InternalError", message }),
    cut: () => void socket.destroy(),
  };
}

/** One frame of a server, which does not mask. */
export function frame(payload: Buffer, opcode = 2, isLast = true): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = (isLast ? 0x80 : 0) | opcode;
  head[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}
