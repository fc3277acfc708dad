import { withoutUndefined } from "@lameduck/drain/common";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls, TLSSocket } from "node:tls";

import type { TlsOptions } from "../plan.ts";

/** A place to connect to; `pod` where the sender itself chose it. */
export interface Place {
  readonly pod?: string;
  readonly address: string;
  readonly port: number;
}

/** How a connection goes there. */
export interface SocketOptions extends Place {
  readonly localAddress: string | undefined;
  /** The authority: what a Host header says. Sent as SNI where it is a name. */
  readonly host: string;
  /** Over TLS. */
  readonly secure: boolean;
  readonly tls: TlsOptions;
  /** Shared by all connections: bytes are consumed before the next read. */
  readonly buffer: Buffer;
}

/** What a connection had come to. */
export interface SocketEvents {
  /** TCP is established; TLS may be still to come. */
  readonly connected: () => void;
  /** Bytes can be sent. */
  readonly ready: (socket: Socket) => void;
  /** The bytes are to be consumed at once. Without it the owner of the socket reads them. */
  readonly read?: (bytes: Buffer, length: number) => void;
  readonly failed: (code: string) => void;
  /** Orderly: by an end of stream. An orderly end is reported again when the connection is closed. */
  readonly ended: (orderly: boolean) => void;
}

/** A bare connection, clear or over TLS with the protocol offered by ALPN. */
export function open(options: SocketOptions, alpn: string, events: SocketEvents): Socket {
  const { connected, ready, read, failed, ended } = events;
  const socket = options.secure ? openTls(options, alpn, read) : openClear(options, read);
  socket.once("connect", connected);
  socket.once(options.secure ? "secureConnect" : "connect", () => ready(socket));
  socket.on("error", (error: NodeJS.ErrnoException) => failed(error.code ?? error.message));
  if (read) socket.on("end", () => ended(true));
  socket.on("close", () => ended(false));
  return socket;
}

function openClear(options: SocketOptions, read: SocketEvents["read"]): Socket {
  if (!read) return connect(placeOf(options));
  const callback = (length: number, bytes: Uint8Array): boolean => {
    read(bytes as Buffer, length);
    return true;
  };
  return connect({ ...placeOf(options), onread: { buffer: options.buffer, callback } });
}

function openTls(options: SocketOptions, alpn: string, read: SocketEvents["read"]): Socket {
  const { host, tls } = options;
  const name = host.replace(/:\d+$/, "");
  const socket = connectTls(
    withoutUndefined({
      ...placeOf(options),
      ALPNProtocols: [alpn],
      rejectUnauthorized: tls.verify ?? false,
      ca: tls.ca,
      servername: isIP(name) ? undefined : name,
    }),
  );
  if (read) socket.on("data", (bytes: Buffer) => read(bytes, bytes.length));
  return socket;
}

function placeOf({ address, port, localAddress }: SocketOptions) {
  return withoutUndefined({ host: address, port, localAddress, noDelay: true, autoSelectFamily: false });
}

/**
 * Ends it by a reset. A socket under TLS cannot send one, so it is only destroyed. So is one that is being shut down: libuv refuses to
 * reset it, its descriptor would stay open, and the process would never exit.
 */
export function cut(socket: Socket): void {
  const isShuttingDown = socket.writableEnded && !socket.writableFinished;
  if (socket instanceof TLSSocket || isShuttingDown) socket.destroy();
  else socket.resetAndDestroy();
}
