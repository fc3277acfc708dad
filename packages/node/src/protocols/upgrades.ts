import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { goingAway, nameCloseFrames } from "./close-frames.ts";
import type { Patience } from "./watch.ts";

/** A connection that is no WebSocket, such as a tunnel, is at work if it has moved a byte within this time. */
const pauseMs = 1_000;
/** The events by which a connection leaves HTTP. It leaves only where somebody listens. */
const exits = ["upgrade", "connect"] as const;

interface Upgraded {
  readonly isWebSocket: boolean;
  /** Bytes sent when it asked for the upgrade: not more means that the upgrade has not been answered. */
  readonly sent: number;
  notifiedAt: number;
  /** Bytes that went either way, and when they were last seen to have become more. */
  moved: number;
  movedAt: number;
  readonly closed: () => void;
}

/**
 * Connections that have left HTTP. Listening for upgrades has an effect in Node (without a listener an upgrade is an ordinary
 * request, and CONNECT is refused), so this listens only where somebody else does.
 */
export class Upgrades {
  readonly #server: Server;
  readonly #now: () => number;
  readonly #seen: (socket: Socket, request: IncomingMessage) => void;
  readonly #sockets = new Map<Socket, Upgraded>();
  readonly #listens = new Set<string | symbol>();
  #waitsForOthers = true;
  /** How long a client has to answer the close frame, milliseconds. */
  #answerWithin = Infinity;

  constructor(server: Server, now: () => number, seen: (socket: Socket, request: IncomingMessage) => void) {
    this.#server = server;
    this.#now = now;
    this.#seen = seen;
    server.on("newListener", this.#onNewListener);
    server.on("removeListener", this.#onRemoveListener);
    for (const event of exits) if (server.listenerCount(event) > 0) this.#listen(event);
  }

  has(socket: Socket): boolean {
    return this.#sockets.has(socket);
  }

  /** WebSockets that are still to be sent 1001, or have yet to answer it, and others that are at work. */
  get restless(): number {
    const now = this.#now();
    let count = 0;
    for (const [socket, upgraded] of this.#sockets) {
      if (
        upgraded.isWebSocket
          ? upgraded.notifiedAt > now - this.#answerWithin
          : this.#isAtWork(socket, upgraded, now)
      )
        count++;
    }
    return count;
  }

  /** Handlers of the application are about to close what is theirs. */
  beforeHandlers(): void {
    for (const [socket, upgraded] of this.#sockets)
      if (upgraded.isWebSocket && isAnswered(socket, upgraded))
        nameCloseFrames(socket, () => void (upgraded.notifiedAt = this.#now()));
  }

  /**
   * Sends 1001 to each WebSocket, at a random time within `spread`. A raw frame is right whatever library serves the socket:
   * each writes whole frames, and control frames may come between the fragments of a message.
   */
  close({ spread, silence, answer }: Patience, random: () => number): void {
    this.#answerWithin = answer;
    this.#waitsForOthers = silence === undefined;
    for (const [socket, upgraded] of this.#sockets)
      if (upgraded.isWebSocket) setTimeout(() => this.#closeOne(socket, upgraded), random() * spread);
  }

  stop(): void {
    this.#server.removeListener("newListener", this.#onNewListener);
    this.#server.removeListener("removeListener", this.#onRemoveListener);
    for (const event of exits) this.#server.removeListener(event, this.#onUpgrade);
    for (const [socket, { closed }] of this.#sockets) socket.removeListener("close", closed);
    this.#sockets.clear();
  }

  #closeOne(socket: Socket, upgraded: Upgraded): void {
    // The application has closed it itself.
    if (upgraded.notifiedAt < Infinity) return;
    upgraded.notifiedAt = this.#now();
    if (socket.writable && isAnswered(socket, upgraded)) socket.write(goingAway);
  }

  #isAtWork(socket: Socket, upgraded: Upgraded, now: number): boolean {
    const moved = movedOn(socket);
    if (moved > upgraded.moved) upgraded.movedAt = now;
    upgraded.moved = moved;
    return this.#waitsForOthers && upgraded.movedAt > now - pauseMs;
  }

  readonly #onUpgrade = (request: IncomingMessage, socket: Socket): void => {
    const isWebSocket = request.headers.upgrade?.toLowerCase() === "websocket";
    const closed = (): void => void this.#sockets.delete(socket);
    const sent = socket.bytesWritten;
    const moved = movedOn(socket);
    this.#sockets.set(socket, {
      isWebSocket,
      sent,
      notifiedAt: Infinity,
      moved,
      movedAt: -Infinity,
      closed,
    });
    socket.once("close", closed);
    this.#seen(socket, request);
  };

  readonly #onNewListener = (event: string | symbol): void => {
    if (isExit(event) && !this.#listens.has(event)) this.#listen(event);
  };

  readonly #onRemoveListener = (event: string | symbol): void => {
    if (!isExit(event) || !this.#listens.has(event) || this.#server.listenerCount(event) > 1) return;
    this.#listens.delete(event);
    this.#server.removeListener(event, this.#onUpgrade);
  };

  #listen(event: (typeof exits)[number]): void {
    this.#listens.add(event);
    this.#server.prependListener(event, this.#onUpgrade);
  }
}

function isExit(event: string | symbol): event is (typeof exits)[number] {
  return (exits as readonly (string | symbol)[]).includes(event);
}

function isAnswered(socket: Socket, { sent }: Upgraded): boolean {
  return socket.bytesWritten > sent;
}

function movedOn(socket: Socket): number {
  return socket.bytesRead + socket.bytesWritten;
}
