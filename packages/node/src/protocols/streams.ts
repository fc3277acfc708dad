import { options } from "@lameduck/options";
import { parseMatch } from "../options/match.ts";
import { nestedOptions, pathList, pathsFrom } from "../options/nested-options.ts";
import type { Environment } from "../options/environment.ts";
import type { ProbeRequest } from "../options/match.ts";
import { pathOf } from "./probes.ts";

export type IsStream = (request: ProbeRequest) => boolean;

export interface StreamOptions {
  /** Paths of which the answers last as long as the client likes: long polls, endless downloads. Without query. */
  paths?: readonly string[];
  match?: (request: ProbeRequest) => boolean;
}

/**
 * Which requests are streams by their nature, beside server-sent events: they do not count as in flight, or they would hold every
 * pod to its cap, and they are ended when closing begins.
 * @param environment its list of paths counts where code says nothing.
 */
export function parseStreams(inCode?: StreamOptions, environment: Environment = {}): IsStream {
  const { paths, match } =
    inCode === undefined ? streamsIn(environment) : nestedOptions(inCode, "streams", ["paths", "match"]);
  const isMatch = parseMatch(match, "streams.match");
  const known = pathList(paths, "streams.paths");
  return (request) =>
    isSocketIoPoll(request) || (known.size > 0 && known.has(pathOf(request.url))) || isMatch(request);
}

function streamsIn(environment: Environment): StreamOptions {
  return { paths: pathsFrom(environment, options.streams.variable) };
}

/**
 * What becomes of a `text/event-stream`: it is `endless`, its client comes back by itself; `doubtful`, which may be either; or `finite`, an answer
 * like any other. EventSource always asks by GET and always says what it accepts (HTML, 9.2). By other methods come a language model's
 * completion, MCP and GraphQL, whose clients take the end of the stream for the end of the answer.
 */
export type Lasting = "endless" | "doubtful" | "finite";

export function lastingOf({ method, headers }: ProbeRequest): Lasting {
  if (method !== "GET") return "finite";
  return headers["accept"]?.includes("text/event-stream") ? "endless" : "doubtful";
}

/** A poll of socket.io hangs for up to 25 s; its POSTs are ordinary requests. */
function isSocketIoPoll({ method, url }: ProbeRequest): boolean {
  return method === "GET" && url !== undefined && url.includes("transport=polling") && url.includes("EIO=");
}
