import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls, TLSSocket } from "node:tls";

import type { TlsOptions } from "../plan.ts";

/** Where a connection goes, and from where. */
export interface SocketPlace {
  readonly address: string;
  readonly port: number;
  readonly localAddress: string | undefined;
  /** Sent as SNI where it is a name. */
  readonly host: string | undefined;
  readonly tls: TlsOptions;
}

/** How it goes there. */
export interface SocketManner {
  /** What is offered by ALPN; without it the connection is clear. */
  readonly alpn?: string | undefined;
  /** Bytes are read into this and consumed before the next read; without it they come as "data". */
  readonly onread?: { readonly buffer: Buffer; readonly read: (bytes: Buffer, length: number) => void };
}

/** What a connection had come to. */
export interface SocketEvents {
  /** TCP is established; TLS may be still to come. */
  readonly connected: () => void;
  /** Bytes can be sent. */
  readonly ready: (socket: Socket) => void;
}

/** A bare connection, clear or over TLS. */
export function open(
  { address, port, localAddress, host, tls }: SocketPlace,
  { alpn, onread }: SocketManner,
  events: SocketEvents,
): Socket {
  const place = {
    host: address,
    port,
    ...(localAddress === undefined ? {} : { localAddress }),
    noDelay: true,
    autoSelectFamily: false,
  };
  if (alpn === undefined) {
    const socket = connect({
      ...place,
      ...(onread === undefined
        ? {}
        : {
            onread: {
              buffer: onread.buffer,
              callback: (length: number, bytes: Uint8Array): boolean => {
                onread.read(bytes as Buffer, length);
                return true;
              },
            },
          }),
    });
    socket.once("connect", () => {
      events.connected();
      events.ready(socket);
    });
    return socket;
  }
  const name = host?.replace(/:\d+$/, "");
  const socket = connectTls({
    ...place,
    ALPNProtocols: [alpn],
    rejectUnauthorized: tls.verify ?? false,
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(name === undefined || isIP(name) ? {} : { servername: name }),
  });
  socket.once("connect", events.connected);
  socket.once("secureConnect", () => events.ready(socket));
  if (onread) socket.on("data", (bytes: Buffer) => onread.read(bytes, bytes.length));
  return socket;
}

/** What a connection that speaks HTTP/1.1 had come to. */
export interface Http1Events extends SocketEvents {
  /** The bytes are to be consumed at once. */
  readonly read: (bytes: Buffer, length: number) => void;
  readonly failed: (code: string) => void;
  /** Orderly: by an end of stream. An orderly end is reported again when the connection is closed. */
  readonly ended: (orderly: boolean) => void;
}

/** A bare connection that speaks HTTP/1.1. */
export function openHttp1(
  place: SocketPlace & { readonly secure: boolean; readonly buffer: Buffer },
  events: Http1Events,
): Socket {
  const alpn = place.secure ? "http/1.1" : undefined;
  const socket = open(place, { alpn, onread: { buffer: place.buffer, read: events.read } }, events);
  socket.on("error", (error: NodeJS.ErrnoException) => events.failed(error.code ?? error.message));
  socket.on("end", () => events.ended(true));
  socket.on("close", () => events.ended(false));
  return socket;
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
