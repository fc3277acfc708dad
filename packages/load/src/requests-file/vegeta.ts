import { claimIn } from "../answer.ts";
import {
  asCount,
  asObject,
  asText,
  asTime,
  readObject,
  type JsonObject,
  type Parser,
  type ParserContext,
  type ReportedRequest,
} from "./parser.ts";

/** What `vegeta encode` writes: JSON lines. */
export function vegeta(context: ParserContext): Parser {
  return {
    line: (line, number) => {
      if (line.trim() !== "") context.emit(reported(readObject(line, number), number));
    },
    end: () => undefined,
  };
}

function reported(result: JsonObject, line: number): ReportedRequest {
  const begun = asTime(result["timestamp"], line);
  const status = asCount(result["code"], "code", line);
  const bytesIn = asCount(result["bytes_in"] ?? 0, "bytes_in", line);
  const [error, body] = [asText(result["error"]), asText(result["body"])];
  return {
    begun,
    // Nanoseconds.
    finished: begun + asCount(result["latency"], "latency", line) / 1e6,
    url: asText(result["url"]),
    status,
    error,
    // Go's client puts method and URL before what failed up to the answer's head; what failed in the body stands alone.
    answerBegun: status === 0 && error !== "" && !/^[A-Za-z]+ "/.test(error),
    // The body is base64.
    received: bytesIn > 0 ? bytesIn : Math.floor((body.replace(/=+$/, "").length * 3) / 4),
    ...answeredBy(asObject(result["headers"])),
  };
}

/** The surest first: a header of the app, of the proxy, any other name of the pod. */
function answeredBy(headers: JsonObject): Pick<ReportedRequest, "pod" | "upstream"> {
  const named = new Map<string, string>();
  for (const [name, values] of Object.entries(headers))
    if (name.startsWith("X-") || name.startsWith("x-"))
      named.set(name.toLowerCase(), Array.isArray(values) ? asText(values[0]) : "");
  const pod = named.get("x-lameduck-pod");
  const upstream = named.get("x-lameduck-upstream");
  if (pod) return { pod };
  if (upstream) return { upstream };
  const claim = claimIn((name) => named.get(name));
  return claim === undefined ? {} : { pod: claim };
}
