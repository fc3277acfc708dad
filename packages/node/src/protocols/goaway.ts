import type { ServerHttp2Session } from "node:http2";
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
 * Asks a client to leave. Not by `session.goaway(0, 2 ** 31 - 1)`: after a GOAWAY, whatever stream it names, nghttp2 ignores new
 * streams without a word (nghttp2_session.c, session_allow_incoming_new_stream), and those that were on their way hang until their
 * clients give up: 393 of 67,000 requests in 50 terminations. Its own call for the purpose, nghttp2_submit_shutdown_notice, is not
 * in Node's API. So the frame is written past it: Node writes whole frames, so that it comes between two of them.
 */
export function notify(session: ServerHttp2Session): void {
  if (!session.destroyed && !session.closed) writableSocketOf(session)?.write(notice);
}
