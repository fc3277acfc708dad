import type {
  Http2SecureServer,
  Http2Server,
  IncomingHttpHeaders,
  ServerHttp2Session,
  ServerHttp2Stream,
} from "node:http2";
import { Answers } from "./answers.ts";
import { answerPings, canNotify, isBetterAskedLater, mayDropCalls, notify } from "./goaway.ts";
import { http2Answers } from "./http2-answers.ts";
import type { ProbeRequest } from "../options/requests.ts";
import { senderOf } from "../internals.ts";
import { Pace } from "./pace.ts";
import type { Cut, Lasting, Patience, ProtocolWatch, WatchContext } from "./watch.ts";

type AnyHttp2Server = Http2Server | Http2SecureServer;

/**
 * A session gets this long before it is asked to go. Asked at once, a client whose load balancer has not converged would make a session, and over
 * TLS a handshake, for each request.
 */
const youngestAgeMs = 1_000;
/** A session without a stream for this long counts as an arrival all the same. */
const timeoutMs = 500;
/** Between the first GOAWAY and the one that names the last stream: a round trip, so that no stream is on its way any more. */
const roundTripMs = 100;
/** A client that begins streams so long after the first GOAWAY ignores it. */
const longestRoundTripMs = 1_000;

/** What was asked for, and when. */
interface Asked {
  readonly headers: IncomingHttpHeaders;
  readonly at: number;
}

interface SessionState {
  /** Its place in the ramp, 0 to 1. */
  readonly turn: number;
  readonly openedAt: number;
  /** Has sent a stream that was no probe, or nothing for a while: its sender is known to choose this pod. */
  counted: boolean;
  askedAt: number;
  /** Whether it can be given notice; undefined until somebody needs to know. */
  notifiable?: boolean;
  idleSince: number;
  /** Streams since the hold began, but for the session's first. */
  requests: number;
  /** Its client has always waited for an answer before it sent the next request. */
  takesTurns: boolean;
  /** Its client may drop its calls in flight when it is asked to go. */
  dropsCalls: boolean;
  hasPinged: boolean;
  /** Time since when its turn to be asked has come. */
  dueAt: number;
  /** It carries streams without an end, and its turn to be ended came then. */
  leavingAt: number;
  /** Open streams, from the hold on without probes. */
  readonly streams: Map<ServerHttp2Stream, Asked>;
  /** Takes our listeners back. */
  readonly forget: () => void;
}

/** HTTP/2, clear or over TLS, and so gRPC. Of each stream it knows from the beginning that it is open: there is no finding it later. */
export class Http2Watch implements ProtocolWatch {
  readonly #server: AnyHttp2Server;
  readonly #context: WatchContext;
  readonly #sessions = new Map<ServerHttp2Session, SessionState>();
  readonly #answers: Answers<ServerHttp2Stream>;
  #hinted = 0;
  /** Of sessions that carry streams without an end; undefined before closing. */
  #pace: Pace | undefined;
  #endedSessions = 0;

  constructor(server: AnyHttp2Server, context: WatchContext) {
    this.#server = server;
    this.#context = context;
    this.#answers = new Answers(context, http2Answers);
    server.on("session", this.#opened);
  }

  get open(): number {
    return this.#sessions.size;
  }

  hold(): void {
    for (const [session, state] of this.#sessions) {
      state.idleSince = this.#context.now();
      answerPings(session);
      for (const [stream, { headers }] of state.streams) this.#begin(state, stream, headers);
    }
  }

  hint(share: number): void {
    this.#hinted = share;
    for (const [session, state] of this.#sessions) this.#askIfDue(session, state);
  }

  get lasting(): number {
    return this.#answers.lasting;
  }

  /** Sessions, not streams: their clients connect again. */
  get ended(): Lasting {
    return { ended: this.#endedSessions, unanswered: 0 };
  }

  tick(): void {
    this.#answers.classify();
    this.#endLasting(this.#context.now());
    if (this.#context.stoppedAt === Infinity) return;
    // The GOAWAY that names the last stream. The session ends by itself when its streams have ended.
    const now = this.#context.now();
    for (const [session, state] of this.#sessions) {
      this.#askIfDue(session, state);
      const due = canBeNotified(session, state) ? afterNotice(state) : this.#betweenStreams(state);
      if (!session.closed && now >= due && !this.#isBetterAskedLater(state)) session.close();
    }
  }

  /** The session is what its client opens again elsewhere, so the streams of one session end together. */
  #endLasting(now: number): void {
    if (this.#pace === undefined || this.#answers.ripe.size === 0) return;
    const ripe = [...this.#sessions].filter(
      ([, { leavingAt, streams }]) =>
        leavingAt === Infinity && some(streams.keys(), (stream) => this.#answers.ripe.has(stream)),
    );
    const due = this.#pace.due(ripe.length, now);
    for (const [, state] of ripe.slice(0, due)) state.leavingAt = now;
    for (const [session, state] of this.#sessions) this.#letGo(session, state, now);
  }

  /** Its client must know that it is to connect elsewhere before its streams end, or it asks for them again on this session. */
  #letGo(session: ServerHttp2Session, state: SessionState, now: number): void {
    const { leavingAt, streams, idleSince } = state;
    if (leavingAt > now) return;
    const lasting = [...streams.keys()].filter((stream) => this.#answers.ripe.has(stream));
    if (lasting.length === 0) return;
    if (canBeNotified(session, state)) this.#askIfDue(session, state);
    else if (!session.closed) {
      // Best of all it is told with an answer; see #arrived().
      const waited = now - leavingAt;
      const isQuiet = streams.size === lasting.length && now >= idleSince + roundTripMs;
      if (waited < longestRoundTripMs || (!isQuiet && waited < 2 * longestRoundTripMs)) return;
      session.close();
    }
    for (const stream of lasting) this.#answers.end(stream);
    if (leavingAt !== -Infinity) this.#endedSessions++;
    state.leavingAt = -Infinity;
  }

  /** Such a session is asked to go when its turn comes. Until then it is served, and its requests say nothing of senders. */
  #lasts({ leavingAt, streams }: SessionState): boolean {
    if (!this.#context.spreads || leavingAt < Infinity || this.#answers.lasting === 0) return false;
    return some(streams.keys(), (stream) => this.#answers.lasts(stream));
  }

  restless(): number {
    return this.#sessions.size;
  }

  endIdle(): void {
    for (const session of this.#sessions.keys()) if (!session.closed) session.close();
  }

  endStreams(patience: Patience): void {
    const from = this.#context.now();
    this.#answers.endStreams(patience);
    this.#pace = new Pace({ from, until: from + patience.all, gap: patience.gap }, this.#context.random);
  }

  cut(): Cut {
    const cut = { requests: this.#answers.unfinished, connections: this.#sessions.size };
    for (const session of this.#sessions.keys()) session.destroy();
    return cut;
  }

  detach(): void {
    this.#server.removeListener("session", this.#opened);
    for (const { forget } of this.#sessions.values()) forget();
    this.#sessions.clear();
    this.#answers.stop();
  }

  readonly #opened = (session: ServerHttp2Session): void => {
    const now = this.#context.now();
    const state: SessionState = {
      turn: this.#context.random(),
      openedAt: now,
      counted: false,
      askedAt: Infinity,
      idleSince: now,
      requests: 0,
      takesTurns: true,
      dropsCalls: false,
      hasPinged: false,
      dueAt: Infinity,
      leavingAt: Infinity,
      streams: new Map(),
      forget: () => {
        clearTimeout(timer);
        session.removeListener("close", onClose);
        session.removeListener("stream", onStream);
        session.removeListener("ping", onPing);
        for (const stream of state.streams.keys()) stream.removeListener("close", closed);
      },
    };
    this.#sessions.set(session, state);
    const timer = setTimeout(() => this.#count(session, state), timeoutMs).unref();
    const onClose = (): void => {
      state.forget();
      this.#sessions.delete(session);
      for (const stream of state.streams.keys()) this.#ended(state, stream);
    };
    const onPing = (): void => void (state.hasPinged = true);
    // One function for all streams of a session, told apart by `this`.
    const ended = (stream: ServerHttp2Stream): void => {
      this.#ended(state, stream);
      if (state.dropsCalls) this.#askIfDue(session, state, state.streams.size === 0);
    };
    function closed(this: ServerHttp2Stream): void {
      ended(this);
    }
    const onStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void => {
      clearTimeout(timer);
      // A client that has the whole answer may send its next request before we hear that the answer is out.
      if (state.streams.size > 0) state.takesTurns &&= [...state.streams.keys()].every(isAnswered);
      state.streams.set(stream, { headers, at: this.#context.now() });
      state.dropsCalls ||= mayDropCalls(headers);
      stream.on("close", closed);
      if (this.#context.isHolding) this.#arrived(session, state, stream, headers);
      else if (!state.counted && this.#context.isProbe(requestOf(headers))) state.counted = true;
      else this.#count(session, state);
    };
    if (this.#context.isHolding) answerPings(session);
    session.once("close", onClose);
    session.on("ping", onPing);
    session.prependListener("stream", onStream);
  };

  #count(session: ServerHttp2Session, state: SessionState): boolean {
    if (state.counted || session.destroyed || session.socket === undefined) return false;
    state.counted = true;
    this.#context.traffic.connection(senderOf(session.socket));
    return true;
  }

  /** A stream during the hold or later. */
  #arrived(
    session: ServerHttp2Session,
    state: SessionState,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
  ): void {
    if (!this.#begin(state, stream, headers)) return;
    if (!this.#count(session, state) && session.socket && !this.#lasts(state)) {
      state.requests++;
      this.#context.traffic.request(senderOf(session.socket), state.askedAt < Infinity);
    }
    if (canBeNotified(session, state) || state.dropsCalls) return;
    if (state.leavingAt < Infinity)
      state.takesTurns = [...state.streams.keys()].every(
        (one) => one === stream || isAnswered(one) || this.#answers.lasts(one),
      );
    setImmediate(() => this.#askWithAnswer(session, state));
  }

  /** @returns false for a probe. */
  #begin(state: SessionState, stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean {
    const request = requestOf(headers);
    if (this.#context.isProbe(request)) {
      state.streams.delete(stream);
      return false;
    }
    this.#answers.begin(stream, request);
    return true;
  }

  #ended(state: SessionState, stream: ServerHttp2Stream): void {
    if (!state.streams.delete(stream)) return;
    state.idleSince = this.#context.now();
    this.#answers.finish(stream);
  }

  #isToBeAsked(state: SessionState): boolean {
    const { askedAt, turn, openedAt, leavingAt } = state;
    if (leavingAt < Infinity) return askedAt === Infinity;
    if (this.#context.stoppedAt === Infinity && this.#lasts(state)) return false;
    // When the listener closes, all are asked.
    const latest = this.#hinted === Infinity ? Infinity : this.#context.now() - youngestAgeMs;
    return askedAt === Infinity && this.#hinted > turn && openedAt <= latest;
  }

  /** @param isAnswered the last of its streams has just ended, so that nothing else of it is likely to be on its way. */
  #askIfDue(session: ServerHttp2Session, state: SessionState, isAnswered = false): void {
    if (session.closed || !this.#isToBeAsked(state)) return;
    state.dueAt = Math.min(state.dueAt, this.#context.now());
    if (this.#isBetterAskedLater(state)) return;
    if (canBeNotified(session, state)) {
      this.#asks(session, state);
      notify(session);
    } else if (isAnswered) this.#askWithAnswer(session, state);
  }

  #isBetterAskedLater({ dropsCalls, streams, hasPinged, dueAt }: SessionState): boolean {
    if (!dropsCalls) return false;
    const begun = [...streams.values()].map(({ at }) => at);
    return isBetterAskedLater(
      { begun, hasPinged, dueAt, stoppedAt: this.#context.stoppedAt },
      this.#context.now(),
    );
  }

  #asks(session: ServerHttp2Session, state: SessionState): void {
    state.askedAt = this.#context.now();
    if (session.socket) this.#context.traffic.asked(senderOf(session.socket), state.requests);
  }

  /**
   * Where a session cannot be given notice, a client that takes turns is asked while it waits for its answer: nothing else of it is on
   * its way.
   */
  #askWithAnswer(session: ServerHttp2Session, state: SessionState): void {
    if (session.closed || !state.takesTurns || !this.#isToBeAsked(state)) return;
    this.#asks(session, state);
    session.close();
  }

  /** When a session that cannot be given notice is closed: once it has been idle for a while, else one session after the other. */
  #betweenStreams({ streams, idleSince, turn, takesTurns }: SessionState): number {
    const latest = this.#context.stoppedAt + longestRoundTripMs * (1 + turn);
    if (streams.size > 0) return latest;
    // Where nobody expects the process to last, clients are near.
    const isPatient = takesTurns && this.#context.holds;
    return Math.min(latest, idleSince + (isPatient ? longestRoundTripMs : roundTripMs));
  }
}

function some<T>(all: Iterable<T>, is: (one: T) => boolean): boolean {
  for (const one of all) if (is(one)) return true;
  return false;
}

function isAnswered(stream: ServerHttp2Stream): boolean {
  return stream.writableEnded;
}

function canBeNotified(session: ServerHttp2Session, state: SessionState): boolean {
  return (state.notifiable ??= canNotify(session));
}

function afterNotice({ askedAt, idleSince }: SessionState): number {
  return Math.min(Math.max(askedAt, idleSince) + roundTripMs, askedAt + longestRoundTripMs);
}

function requestOf(headers: IncomingHttpHeaders): ProbeRequest {
  return { method: headers[":method"], url: headers[":path"], headers };
}
