/**
 * gRPC's keepalive on Node. A session that has had a GOAWAY is closed to Node: what is in flight is finished, but a ping on it fails. grpc-js, client and
 * server, takes a failed ping for the end of the connection, and drops the calls in flight (grpc-node#3068).
 */
import type { IncomingHttpHeaders, ServerHttp2Session } from "node:http2";

/** A stream is young for so long, milliseconds: it is likely to end before the next ping. */
const youngMs = 1_000;
/** A session that is due to be asked, whose client has never sent a ping, is asked between two moments without streams, or after this time. */
const busyMs = 5_000;
/** The same once the listener is closed. */
const busyInClosingMs = 2_000;

/** Whether a client may drop its calls in flight when it is asked to go, as far as a request tells. */
export function mayDropCalls(headers: IncomingHttpHeaders): boolean {
  return headers["user-agent"]?.includes("grpc-node-js/") ?? false;
}

export interface Calls {
  /** When each of its open streams began. */
  readonly begun: Iterable<number>;
  /** Its client has sent a ping, by which it will know that it was asked to go. */
  readonly hasPinged: boolean;
  /** Since when it should have been asked. */
  readonly dueAt: number;
  /** When the listener closed; Infinity before. */
  readonly stoppedAt: number;
}

/** Whether it costs calls to ask such a client now, or soon would not. */
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
