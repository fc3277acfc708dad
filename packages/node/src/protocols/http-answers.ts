import type { ServerResponse } from "node:http";
import type { AnswerKind } from "./answers.ts";
import { beforeHeaders, renderedHeaders, setKeepAlive, isKeptAlive } from "../internals.ts";

const overruled = Symbol("overruled");

/** Asks the client to leave with this answer, unless it is told to stay again before its headers are sent. */
export function closeAfter(response: ServerResponse): void {
  setKeepAlive(response, false);
  if (overruled in response) return;
  Object.assign(response, { [overruled]: true });
  // A `Connection: keep-alive` of the application, as a proxy copies it, has the last word in Node. It is known only when the headers are sent.
  beforeHeaders(response, (given) => {
    if (isKeptAlive(response)) return given;
    if (keepsAlive(response.getHeader("connection"))) response.setHeader("connection", "close");
    return given.map(withoutKeepAlive);
  });
}

/** An argument of writeHead(). Headers come as an object, or as names and values in turn. */
function withoutKeepAlive(argument: unknown): unknown {
  if (typeof argument !== "object" || argument === null) return argument;
  if (Array.isArray(argument))
    return argument.map((value, index) => closeFor(index % 2 === 1 ? argument[index - 1] : "", value));
  return Object.fromEntries(Object.entries(argument).map(([name, value]) => [name, closeFor(name, value)]));
}

function closeFor(name: unknown, value: unknown): unknown {
  return String(name).toLowerCase() === "connection" && keepsAlive(value) ? "close" : value;
}

function keepsAlive(connection: unknown): boolean {
  return /^\s*keep-alive\s*$/i.test(String(connection));
}

/** Whether the answer is a stream of events, which would hold every pod to its cap. */
function isEventStream(response: ServerResponse): boolean {
  const type = response.getHeader("content-type");
  if (typeof type === "string") return type.includes("text/event-stream");
  return /^content-type: *text\/event-stream/im.test(renderedHeaders(response) ?? "");
}

function endStream(response: ServerResponse): void {
  if (response.writableEnded) return;
  // An application that writes on after the end must not bring the process down while it stops.
  response.on("error", () => {});
  // A long poll that has not been answered gets no answer of ours. It would collide with the application's own, which may still come and throws when
  // headers have been sent. The client sees the end of the connection, and asks again elsewhere.
  if (response.headersSent) response.end();
  else response.destroy();
}

export const httpAnswers: AnswerKind<ServerResponse> = {
  isBegun: (response) => response.headersSent,
  isEventStream,
  end: endStream,
};
