import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { goingAway, nameCloseFrames } from "./close-frames.ts";
import { Pace } from "./pace.ts";
import type { Lasting, Patience } from "./watch.ts";

/** A connection that is no WebSocket, such as a tunnel, is at work if it has moved a byte within this time. */
const pauseMs = 1_000;
/** So long after the last byte an answer of several frames is taken for whole. */
const wholeMs = 100;
/** A WebSocket that never falls silent is ended all the same, so long after the wait for an answer. */
const longestBusyMs = 5_000;
/** A client's answer to a close frame with a code and nothing else: head, mask and code. More bytes than these were a message. */
const closeReplyBytes = 8;
/** The events by which a connection leaves HTTP. It leaves only where somebody listens. */
const exits = ["upgrade", "connect"] as const;

/** What has gone over a connection, and when that was last seen to have become more. */
interface Moved {
  read: number;
  readAt: number;
  written: number;
  writtenAt: number;
}

/** A WebSocket whose turn has come. */
interface Leaving extends Moved {
  readonly since: number;
}

interface Upgraded {
  readonly isWebSocket: boolean;
  /** Bytes sent when it asked for the upgrade: not more means that the upgrade has not been answered. */
  readonly sent: number;
  notifiedAt: number;
  /** Bytes received when our close frame was written; undefined where the application wrote its own. */
  readThen: number | undefined;
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
  /** WebSockets that are still to be ended. */
  readonly #waiting = new Set<Socket>();
  /** Those whose turn has come. */
  readonly #leaving = new Map<Socket, Leaving>();
  #pace: Pace | undefined;
  #moment = 0;
  #ended = 0;
  #unanswered = 0;

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

  get lasting(): number {
    return this.#waiting.size + this.#leaving.size;
  }

  get ended(): Lasting {
    return { ended: this.#ended, unanswered: this.#unanswered };
  }

  /** Handlers of the application are about to close what is theirs. */
  beforeHandlers(): void {
    for (const [socket, upgraded] of this.#sockets)
      if (upgraded.isWebSocket && isAnswered(socket, upgraded))
        nameCloseFrames(socket, () => this.#closedByOthers(socket, upgraded));
  }

  #closedByOthers(socket: Socket, upgraded: Upgraded): void {
    upgraded.notifiedAt = this.#now();
    this.#waiting.delete(socket);
    this.#leaving.delete(socket);
  }

  /**
   * From now on WebSockets are sent 1001, one after the other. A raw frame is right whatever library serves the socket: each writes whole frames, and
   * control frames may come between the fragments of a message.
   */
  close({ spread, gap, silence, answer, moment }: Patience, random: () => number): void {
    this.#answerWithin = answer;
    this.#waitsForOthers = silence === undefined;
    this.#moment = moment;
    const from = this.#now();
    this.#pace = new Pace({ from, until: from + spread, gap }, random);
  }

  tick(): void {
    if (this.#pace === undefined) return;
    const now = this.#now();
    let due = this.#pace.due(this.#waiting.size, now);
    for (const socket of this.#waiting) {
      if (due-- <= 0) break;
      const { bytesRead: read, bytesWritten: written } = socket;
      this.#waiting.delete(socket);
      this.#leaving.set(socket, { since: now, read, readAt: -Infinity, written, writtenAt: -Infinity });
    }
    for (const [socket, leaving] of this.#leaving) {
      look(socket, leaving, now);
      if (this.#isMoment(leaving, now)) this.#closeOne(socket, isUnanswered(leaving, now), now);
    }
  }

  /**
   * A message that crosses the close frame is not answered. Nobody can tell from here when the next message comes. A client that has just been
   * answered is the least likely to be sending one.
   */
  #isMoment(leaving: Leaving, now: number): boolean {
    if (now >= leaving.since + this.#moment + (this.#moment && longestBusyMs)) return true;
    if (isUnanswered(leaving, now) || Math.max(leaving.readAt, leaving.writtenAt) > now - wholeMs)
      return false;
    return now >= leaving.since + this.#moment || leaving.readAt > -Infinity;
  }

  stop(): void {
    this.#server.removeListener("newListener", this.#onNewListener);
    this.#server.removeListener("removeListener", this.#onRemoveListener);
    for (const event of exits) this.#server.removeListener(event, this.#onUpgrade);
    for (const [socket, { closed }] of this.#sockets) socket.removeListener("close", closed);
    this.#sockets.clear();
    this.#waiting.clear();
    this.#leaving.clear();
  }

  #closeOne(socket: Socket, hasUnanswered: boolean, now: number): void {
    this.#leaving.delete(socket);
    const upgraded = this.#sockets.get(socket);
    if (!upgraded) return;
    upgraded.notifiedAt = now;
    if (!socket.writable || !isAnswered(socket, upgraded)) return;
    upgraded.readThen = hasUnanswered ? Infinity : socket.bytesRead;
    socket.write(goingAway);
    this.#ended++;
    if (hasUnanswered) this.#unanswered++;
  }

  #gone(socket: Socket): void {
    const { readThen } = this.#sockets.get(socket) ?? {};
    if (readThen !== undefined && socket.bytesRead > readThen + closeReplyBytes) this.#unanswered++;
    this.#sockets.delete(socket);
    this.#waiting.delete(socket);
    this.#leaving.delete(socket);
  }

  #isAtWork(socket: Socket, upgraded: Upgraded, now: number): boolean {
    const moved = movedOn(socket);
    if (moved > upgraded.moved) upgraded.movedAt = now;
    upgraded.moved = moved;
    return this.#waitsForOthers && upgraded.movedAt > now - pauseMs;
  }

  readonly #onUpgrade = (request: IncomingMessage, socket: Socket): void => {
    const isWebSocket = request.headers.upgrade?.toLowerCase() === "websocket";
    const closed = (): void => this.#gone(socket);
    const sent = socket.bytesWritten;
    const moved = movedOn(socket);
    this.#sockets.set(socket, {
      isWebSocket,
      sent,
      notifiedAt: Infinity,
      readThen: undefined,
      moved,
      movedAt: -Infinity,
      closed,
    });
    if (isWebSocket) this.#waiting.add(socket);
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

function look(socket: Socket, moved: Moved, now: number): void {
  const { bytesRead, bytesWritten } = socket;
  if (bytesRead > moved.read) moved.readAt = now;
  // Where both came between two looks, the answer is taken for the later one.
  if (bytesWritten > moved.written) moved.writtenAt = now;
  moved.read = bytesRead;
  moved.written = bytesWritten;
}

/** What was read last had no answer yet. What waits for longer than a second gets none: a pong, a notification. */
function isUnanswered({ readAt, writtenAt }: Moved, now: number): boolean {
  return readAt > writtenAt && readAt > now - pauseMs;
}

function movedOn(socket: Socket): number {
  return socket.bytesRead + socket.bytesWritten;
}
