import type { IncomingHttpHeaders, ServerHttp2Session } from "node:http2";
import { writableSocketOf } from "../internals.ts";

/**
 * A GOAWAY that names the highest stream there can be: go away, but whatever you have sent or are sending is still served
 * (RFC 9113, 6.8): length 8, type 7, no flags, stream 0; last stream 2^31 - 1, no error.
 */
const notice = Buffer.from([0, 0, 8, 7, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]);

/**
 * Whether a session can be asked to leave before it is closed. Not over TLS: the notice has to be written past nghttp2, and two
 * writers at once abort the process there (tls_wrap.cc, TLSWrap::DoWrite).
 */
export function canNotify(session: ServerHttp2Session): boolean {
  return session.encrypted !== true && writableSocketOf(session) !== undefined;
}

/**
 * Asks a client to leave. `session.goaway(0, 2 ** 31 - 1)` would lose requests: once nghttp2 has sent a GOAWAY, it silently ignores every new stream
 * (session_allow_incoming_new_stream in nghttp2_session.c). A stream that was on its way then hangs until its client gives up: in 50 terminations this
 * happened to 393 of 67,000 requests. nghttp2 has a call for this, nghttp2_submit_shutdown_notice, but Node does not offer it. So the frame is written past
 * nghttp2. Node writes whole frames, so the notice comes between two frames.
 */
export function notify(session: ServerHttp2Session): void {
  if (!session.destroyed && !session.closed) writableSocketOf(session)?.write(notice);
}

/** A stream is young for so long: it is likely to end before the next ping. */
const youngMs = 1_000;
/** A session that is due to be asked, and whose client has never sent a ping, waits this long for a moment without streams. */
const busyMs = 5_000;
/** The same once the listener is closed. */
const busyInClosingMs = 2_000;

/**
 * Whether a client may drop its calls in flight when it is asked to go, as far as a request tells. A session that has had a GOAWAY is closed to Node:
 * what is in flight is finished, but a ping on it fails. grpc-js, client and server, takes a failed ping for the end of the connection, and drops the
 * calls in flight (grpc-node#3068).
 */
export function mayDropCalls(headers: IncomingHttpHeaders): boolean {
  return headers["user-agent"]?.includes("grpc-node-js/") ?? false;
}

export interface Calls {
  /** When each of its open streams began. */
  readonly begun: Iterable<number>;
  /** Its client has sent a ping, by which it will know that it was asked to go. */
  readonly hasPinged: boolean;
  /** Time since when its turn to be asked has come. */
  readonly dueAt: number;
  /** When the listener closed; Infinity before. */
  readonly stoppedAt: number;
}

/** Whether asking such a client now costs calls, and asking it later may cost none. */
export function isBetterAskedLater({ begun, hasPinged, dueAt, stoppedAt }: Calls, now: number): boolean {
  const times = [...begun];
  if (times.length === 0) return false;
  const areYoung = times.every((at) => at > now - youngMs);
  if (stoppedAt < Infinity) return hasPinged ? !areYoung : now < stoppedAt + busyInClosingMs;
  return hasPinged || !areYoung || now < dueAt + busyMs;
}

type Answered = (error: Error | null, duration: number, payload: Buffer) => void;

/**
 * From here on a ping of the server's own on a closed session counts as answered. Whether the client is still there shows in its answers, and the
 * grace period ends both.
 */
export function answerPings(session: ServerHttp2Session): void {
  // oxlint-disable-next-line typescript/unbound-method -- called with the session
  const { ping } = session;
  session.ping = (...given: unknown[]): boolean => {
    if (!session.closed || session.destroyed) return Reflect.apply(ping, session, given);
    const payload = Buffer.isBuffer(given[0]) ? given[0] : Buffer.alloc(8);
    const answered = given.find((each) => typeof each === "function") as Answered | undefined;
    if (answered) setImmediate(answered, null, 0, payload);
    return true;
  };
}
