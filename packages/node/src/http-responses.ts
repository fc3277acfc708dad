import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * The response a connection is busy with. `_httpMessage` is not documented, but has been there since Node 0.x and is the only
 * way to find responses begun before the hold without having watched every request.
 */
export function currentResponse(socket: Socket): ServerResponse | undefined {
  const message = (socket as { _httpMessage?: ServerResponse | null })._httpMessage;
  return message && !message.writableFinished ? message : undefined;
}

/** Streams that last as long as the client likes would hold every pod to its cap. */
export function isEventStream(response: ServerResponse): boolean {
  const type = response.getHeader("content-type");
  if (typeof type === "string") return type.includes("text/event-stream");
  // Headers given to writeHead() are found in the rendered text only.
  const rendered = (response as { _header?: unknown })._header;
  return typeof rendered === "string" && /^content-type: *text\/event-stream/im.test(rendered);
}

export function endStream(response: ServerResponse): void {
  if (response.writableEnded) return;
  // An application that writes on after the end must not bring the process down while it stops.
  response.on("error", () => {});
  // A long poll that has not been answered. An answer of ours would collide with the application's own, which may still come and
  // throws when headers have been sent; the client sees the end of the connection, and asks again elsewhere.
  if (response.headersSent) response.end();
  else response.destroy();
}
