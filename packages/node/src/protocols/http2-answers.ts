import type { OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { AnswerKind } from "./answers.ts";

/** The stream is no longer needed (RFC 9113, 7). */
const cancel = 8;
/** The call may be made again elsewhere: UNAVAILABLE (gRPC status codes). */
const unavailable = { "grpc-status": "14", "grpc-message": "the server is going away" };

function isGrpc({ sentHeaders }: ServerHttp2Stream): boolean {
  return contentType(sentHeaders).startsWith("application/grpc");
}

function contentType(headers: OutgoingHttpHeaders | undefined): string {
  // Node takes an array of one text as well.
  const type: unknown = headers?.["content-type"] ?? "";
  return String(type);
}

function endStream(stream: ServerHttp2Stream): void {
  if (stream.destroyed || stream.closed || stream.writableEnded) return;
  // An application that writes on after the end must not bring the process down while it stops.
  stream.on("error", () => {});
  // Not answered: an answer of ours would collide with the application's own, which may still come.
  if (!stream.headersSent) {
    stream.close(cancel);
    return;
  }
  // A call without a status would be an error of its own. Where the application answers requests, Node has sent its trailers by then.
  if (isGrpc(stream))
    stream.once("wantTrailers", () => {
      if (stream.sentTrailers === undefined) stream.sendTrailers(unavailable);
    });
  stream.end();
}

export const http2Answers: AnswerKind<ServerHttp2Stream> = {
  isBegun: (stream) => stream.headersSent,
  isEventStream: (stream) => contentType(stream.sentHeaders).includes("text/event-stream"),
  end: endStream,
};
