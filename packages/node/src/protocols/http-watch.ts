import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Answers } from "./answers.ts";
import { closeAfter, httpAnswers } from "./http-answers.ts";
import { currentResponse, onRequests, senderOf, setKeepAlive, trackResponses } from "../internals.ts";
import { Pace } from "./pace.ts";
import { OpenSockets } from "./open-sockets.ts";
import { UnclassifiedConnections } from "./unclassified-connections.ts";
import { Upgrades } from "./upgrades.ts";
import type { Cut, Lasting, Patience, ProtocolWatch, WatchContext } from "./watch.ts";

/** What is kept of each connection from the beginning of the hold. */
interface Activity {
  /** Responses begun and not finished; more than one when the client pipelines. */
  readonly responses: Set<ServerResponse>;
  /** When the last response ended; -Infinity before the first. */
  idleSince: number;
  /** Bytes received when it was last known to be idle: more of them now are a request on its way. */
  bytesWhenIdle: number;
  /** Its place in the ramp, 0 to 1. */
  readonly turn: number;
  /** Was seen to pipeline: `Connection: close` would leave the requests behind unanswered. */
  pipelines: boolean;
  /** Requests since the hold began, but for the connection's first. */
  requests: number;
  /** Its client has been asked to leave. */
  asked: boolean;
}

/** How long half a request head is waited for once the listener is closed: senders that are alive send a head at once. */
const headTimeoutMs = 1_000;

/** HTTP/1.1 over TCP, TLS or a Unix socket. Until the hold it counts connections and looks at some; requests cost nothing. */
export class HttpWatch implements ProtocolWatch {
  readonly #server: Server;
  readonly #context: WatchContext;
  readonly #connectionEvent: "connection" | "secureConnection";
  readonly #unclassified: UnclassifiedConnections;
  readonly #upgrades: Upgrades;
  readonly #open: OpenSockets;
  readonly #activities = new Map<Socket, Activity>();
  readonly #answers: Answers<ServerResponse>;
  /** Of streams without an end; undefined before closing. */
  #pace: Pace | undefined;
  readonly #untrack: () => void;
  #unfollow = (): void => {};
  #hinted = 0;
  /** The application's own, until the hold. */
  #keepAliveTimeout: number | undefined;
  /** Requests that came on a connection after we had ended it: lost. */
  #late = 0;

  constructor(server: Server, context: WatchContext) {
    this.#server = server;
    this.#context = context;
    const isSecure = "setSecureContext" in server;
    this.#connectionEvent = isSecure ? "secureConnection" : "connection";
    this.#unclassified = new UnclassifiedConnections(server, context);
    this.#upgrades = new Upgrades(server, context.now, (socket, request) => this.#upgraded(socket, request));
    this.#open = new OpenSockets(server, isSecure, (socket) => this.#closed(socket));
    this.#answers = new Answers(context, httpAnswers);
    this.#untrack = trackResponses(server);
    server.on(this.#connectionEvent, this.#opened);
  }

  get open(): number {
    return this.#open.size;
  }

  hold(): void {
    this.#unclassified.classifyAll();
    this.#open.findAll();
    this.#unfollow = onRequests(this.#server, this.#onRequest);
    this.#keepAliveTimeout = this.#server.keepAliveTimeout;
    this.#server.keepAliveTimeout = 0;
    const now = this.#context.now();
    for (const socket of this.#open) {
      // What is left of a request that became a WebSocket, for frameworks that route it, never ends.
      if (this.#upgrades.has(socket)) continue;
      const current = currentResponse(socket);
      // A time-out would end an idle connection just when its client sends. It is ended in order when the hold is over.
      if (!current) socket.setTimeout(0);
      if (current && !this.#context.isProbe(current.req)) this.#begin(socket, current);
      else this.#activityOf(socket, now);
    }
  }

  /** Handlers of the application are about to get their signal, and may close what is theirs. */
  beforeHandlers(): void {
    this.#upgrades.beforeHandlers();
  }

  hint(share: number): void {
    this.#hinted = share;
    for (const activity of this.#activities.values())
      for (const response of activity.responses) this.#hintTo(activity, response);
  }

  get lasting(): number {
    return this.#upgrades.lasting + this.#answers.lasting;
  }

  get ended(): Lasting {
    const { ended, unanswered } = this.#upgrades.ended;
    return { ended: ended + this.#answers.ended, unanswered };
  }

  tick(): void {
    this.#answers.classify();
    this.#upgrades.tick();
    if (this.#pace === undefined) return;
    const { ripe } = this.#answers;
    let due = this.#pace.due(ripe.size, this.#context.now());
    for (const answer of ripe) {
      if (due-- <= 0) break;
      this.#answers.end(answer);
    }
  }

  restless(quiet: number): number {
    const now = this.#context.now();
    const awaitsHeads = now < this.#context.stoppedAt + headTimeoutMs;
    let count = this.#upgrades.restless;
    for (const [socket, activity] of this.#activities)
      if (
        isBusy(activity) ||
        activity.idleSince > now - quiet ||
        (awaitsHeads && isReceiving(socket, activity))
      )
        count++;
    return count;
  }

  /** Ends our half and goes on reading, so that what the client sends meanwhile is met by an end of stream, not by a reset. */
  endIdle(): void {
    for (const socket of this.#open) {
      const activity = this.#activities.get(socket);
      const isAnswering = !this.#upgrades.has(socket) && currentResponse(socket) !== undefined;
      if ((!activity || !isBusy(activity)) && !isAnswering && !socket.writableEnded) socket.end();
    }
  }

  endStreams(patience: Patience): void {
    const { now, random } = this.#context;
    this.#upgrades.close(patience, random);
    this.#answers.endStreams(patience);
    const from = now();
    this.#pace = new Pace({ from, until: from + patience.all, gap: patience.gap }, random);
  }

  cut(): Cut {
    let connections = 0;
    for (const socket of this.#open) {
      if (!socket.writableEnded) connections++;
      socket.destroy();
    }
    return { requests: this.#answers.unfinished + this.#late, connections };
  }

  detach(): void {
    if (this.#keepAliveTimeout !== undefined) this.#server.keepAliveTimeout = this.#keepAliveTimeout;
    this.#server.removeListener(this.#connectionEvent, this.#opened);
    this.#unclassified.stop();
    this.#upgrades.stop();
    this.#unfollow();
    this.#untrack();
    this.#open.stop();
    this.#activities.clear();
    this.#answers.stop();
  }

  readonly #opened = (socket: Socket): void => {
    // HTTP/2 over TLS is another watch's concern.
    if (
      this.#connectionEvent === "secureConnection" &&
      (socket as { alpnProtocol?: unknown }).alpnProtocol === "h2"
    )
      return;
    this.#open.opened(socket);
    this.#unclassified.opened(socket);
    if (this.#context.isHolding) this.#activityOf(socket, this.#context.now());
  };

  #closed(socket: Socket): void {
    this.#unclassified.closed(socket);
    const activity = this.#activities.get(socket);
    if (!activity) return;
    this.#activities.delete(socket);
    // Pipelined responses that never got their turn emit no "close" of their own.
    for (const response of activity.responses) this.#ended(activity, response);
  }

  /** No longer HTTP: neither its bytes nor its idleness say anything about requests. */
  #upgraded(socket: Socket, request: IncomingMessage): void {
    this.#unclassified.firstRequest(socket, request);
    this.#activities.delete(socket);
  }

  readonly #onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    // A request that waited for its 100 (Continue), or was handed on, is reported again. An upgraded one is no request any more.
    if (!this.#open.has(socket) || this.#upgrades.has(socket) || this.#knows(response)) return;
    const first = this.#unclassified.firstRequest(socket, request);
    if (socket.writableEnded) this.#late++;
    if (this.#unclassified.isProbe(request)) {
      response.once("close", () => rest(this.#activityOf(socket, -Infinity), socket));
      return;
    }
    if (!first) this.#again(this.#activityOf(socket, -Infinity), socket);
    this.#begin(socket, response);
  };

  #knows(response: ServerResponse): boolean {
    return this.#activities.get(response.req.socket)?.responses.has(response) ?? false;
  }

  /** A request that is not its connection's first. */
  #again(activity: Activity, socket: Socket): void {
    activity.requests++;
    this.#context.traffic.request(senderOf(socket), activity.asked);
  }

  #begin(socket: Socket, response: ServerResponse): void {
    const activity = this.#activityOf(socket, -Infinity);
    // A client that has the whole answer may send its next request before we hear that the answer is out: that is no pipelining.
    const unanswered = [...activity.responses].filter((earlier) => !earlier.writableEnded);
    if (unanswered.length > 0) {
      activity.pipelines = true;
      for (const earlier of unanswered) if (!earlier.headersSent) setKeepAlive(earlier, true);
    }
    activity.responses.add(response);
    this.#answers.begin(response, response.req);
    response.once("close", () => this.#ended(activity, response));
    this.#hintTo(activity, response);
  }

  #ended(activity: Activity, response: ServerResponse): void {
    if (!activity.responses.delete(response)) return;
    this.#answers.finish(response);
    activity.idleSince = this.#context.now();
    // An app that ends an answer later than its last byte makes any client look as if it pipelined: that must not last.
    if (activity.responses.size === 0) activity.pipelines = false;
    const { socket } = response.req;
    rest(activity, socket);
    // A pipelined request of before the hold gets its turn only now.
    setImmediate(() => {
      const next = socket.destroyed ? undefined : currentResponse(socket);
      if (!next || this.#activities.get(socket) !== activity || activity.responses.has(next)) return;
      if (!this.#context.isProbe(next.req)) this.#begin(socket, next);
    });
  }

  #hintTo(activity: Activity, response: ServerResponse): void {
    if (this.#hinted <= activity.turn || response.headersSent) return;
    if (activity.pipelines && (this.#hinted < Infinity || activity.responses.size > 1)) return;
    closeAfter(response);
    if (activity.asked) return;
    activity.asked = true;
    this.#context.traffic.asked(senderOf(response.req.socket), activity.requests);
  }

  #activityOf(socket: Socket, idleSince: number): Activity {
    const known = this.#activities.get(socket);
    if (known) return known;
    const activity: Activity = {
      responses: new Set(),
      idleSince,
      bytesWhenIdle: socket.bytesRead,
      turn: this.#context.random(),
      pipelines: false,
      requests: 0,
      asked: false,
    };
    this.#activities.set(socket, activity);
    return activity;
  }
}

function isBusy(activity: Activity): boolean {
  return activity.responses.size > 0;
}

function rest(activity: Activity, socket: Socket): void {
  activity.bytesWhenIdle = socket.bytesRead;
}

function isReceiving(socket: Socket, activity: Activity): boolean {
  return socket.bytesRead > activity.bytesWhenIdle;
}
