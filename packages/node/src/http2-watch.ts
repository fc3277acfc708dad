import type {
  Http2SecureServer,
  Http2Server,
  IncomingHttpHeaders,
  ServerHttp2Session,
  ServerHttp2Stream,
} from "node:http2";
import { askToGo } from "./goaway.ts";
import type { ProbeRequest } from "./probes.ts";
import { ProtocolWatch } from "./protocol-watch.ts";
import { addressOf } from "./senders.ts";
import type { ServerWatch, WatchContext } from "./traffic.ts";

type AnyHttp2Server = Http2Server | Http2SecureServer;

/**
 * A session gets this long before it is asked to go, milliseconds: asked at once, a client whose load balancer has not converged would
 * make a session, and over TLS a handshake, for each request.
 */
const youth = 1_000;

interface SessionState {
  /** Its place in the ramp, 0 to 1. */
  readonly turn: number;
  readonly openedAt: number;
  /** Has sent a stream that was no probe, or nothing for a while: its sender is known to choose this pod. */
  counted: boolean;
  askedAt: number;
  idleSince: number;
  /** Streams since the hold began, but for the session's first. */
  requests: number;
  /** Those seen since the hold began, and whether it is one that lasts as long as the client likes. */
  readonly streams: Map<ServerHttp2Stream, boolean>;
}

/** A session without a stream for this long counts as an arrival all the same. */
const patience = 500;
/** Between the first GOAWAY and the one that names the last stream: a round trip, so that no stream is on its way any more. */
const roundTrip = 100;
/** Whoever still begins streams so long after the first GOAWAY does not heed it. */
const longestRoundTrip = 1_000;

/**
 * HTTP/2, clear or over TLS, and so gRPC. Before the hold it listens for sessions and the first stream of each. Streams begun
 * before the hold are not known, as finding them would take a listener for each; the session's own graceful close waits for them.
 */
export class Http2Watch extends ProtocolWatch<AnyHttp2Server> implements ServerWatch {
  readonly #sessions = new Map<ServerHttp2Session, SessionState>();

  constructor(server: AnyHttp2Server, context: WatchContext) {
    super(server, context);
    server.on("session", this.#opened);
  }

  get open(): number {
    return this.#sessions.size;
  }

  override hold(): void {
    super.hold();
    for (const [session, state] of this.#sessions) {
      state.idleSince = this.context.now();
      session.prependListener("stream", this.#streamListener(session, state));
    }
  }

  hint(share: number): void {
    const now = this.context.now();
    // When the listener closes, all are asked.
    const latest = share === Infinity ? now : now - youth;
    for (const [session, state] of this.#sessions) {
      if (state.askedAt < Infinity || session.closed || share <= state.turn || state.openedAt > latest)
        continue;
      state.askedAt = now;
      if (session.socket) this.context.traffic.asked(addressOf(session.socket.remoteAddress), state.requests);
      askToGo(session);
    }
  }

  tick(): void {
    if (this.stoppedAt === Infinity) return;
    // The second GOAWAY. The session ends by itself when its streams have ended, those begun before the hold included.
    const now = this.context.now();
    for (const [session, { askedAt, idleSince }] of this.#sessions)
      if (
        !session.closed &&
        (Math.max(askedAt, idleSince) <= now - roundTrip || askedAt <= now - longestRoundTrip)
      )
        session.close();
  }

  restless(): number {
    return this.#sessions.size;
  }

  endIdle(): void {
    for (const session of this.#sessions.keys()) if (!session.closed) session.close();
  }

  endStreams(spread: number): void {
    for (const { streams } of this.#sessions.values())
      for (const [stream, isEndless] of streams)
        if (isEndless) setTimeout(endStream, this.context.random() * spread, stream);
  }

  cut(): { requests: number; connections: number } {
    const cut = { requests: this.inFlight, connections: this.#sessions.size };
    for (const session of this.#sessions.keys()) session.destroy();
    return cut;
  }

  detach(): void {
    this.server.removeListener("session", this.#opened);
    this.#sessions.clear();
  }

  readonly #opened = (session: ServerHttp2Session): void => {
    this.accepted++;
    const turn = this.context.random();
    const state: SessionState = {
      turn,
      openedAt: this.context.now(),
      counted: false,
      askedAt: Infinity,
      idleSince: this.context.now(),
      requests: 0,
      streams: new Map(),
    };
    this.#sessions.set(session, state);
    session.once("close", () => {
      clearTimeout(timer);
      this.#closed(session, state);
    });
    const timer = setTimeout(() => this.#count(session, state), patience).unref();
    if (this.holding) session.prependListener("stream", this.#streamListener(session, state));
    else
      session.once("stream", (_stream, headers) => {
        clearTimeout(timer);
        if (this.context.isProbe(requestOf(headers))) state.counted = true;
        else this.#count(session, state);
      });
  };

  #count(session: ServerHttp2Session, state: SessionState): boolean {
    if (state.counted || session.destroyed || session.socket === undefined) return false;
    state.counted = true;
    this.context.traffic.connection(addressOf(session.socket.remoteAddress));
    return true;
  }

  #closed(session: ServerHttp2Session, state: SessionState): void {
    this.#sessions.delete(session);
    for (const stream of state.streams.keys()) this.#ended(state, stream);
  }

  #streamListener(session: ServerHttp2Session, state: SessionState) {
    return (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void => {
      if (this.context.isProbe(requestOf(headers))) return;
      if (!this.#count(session, state) && session.socket) {
        state.requests++;
        this.context.traffic.request(addressOf(session.socket.remoteAddress), state.askedAt < Infinity);
      }
      const isEndless = this.context.isStream(requestOf(headers));
      state.streams.set(stream, isEndless);
      if (!isEndless) this.changeInFlight(1);
      stream.once("close", () => this.#ended(state, stream));
    };
  }

  #ended(state: SessionState, stream: ServerHttp2Stream): void {
    const isEndless = state.streams.get(stream);
    if (isEndless === undefined) return;
    state.streams.delete(stream);
    state.idleSince = this.context.now();
    if (!isEndless) this.changeInFlight(-1);
  }
}

function requestOf(headers: IncomingHttpHeaders): ProbeRequest {
  return { method: headers[":method"], url: headers[":path"], headers };
}

function endStream(stream: ServerHttp2Stream): void {
  if (stream.writableEnded || stream.destroyed) return;
  stream.on("error", () => {});
  stream.end();
}
