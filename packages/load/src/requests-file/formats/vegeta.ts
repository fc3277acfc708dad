import { claimHeaders } from "../../answer.ts";
import { BadLine, quoted } from "../errors.ts";
import { CsvRecords } from "../csv.ts";
import { asCount, asObject, asText, jsonLines } from "../json.ts";
import type { Parser, ParserContext, ReportedRequest } from "../request.ts";
import { readTime } from "../time.ts";

/** What both of vegeta's readable forms hold. */
interface Result {
  readonly begun: number;
  /** Milliseconds. */
  readonly latency: number;
  readonly code: number;
  readonly bytesIn: number;
  readonly error: string;
  /** Base64. */
  readonly body: string;
  readonly url: string;
  /** The answer's headers; names in any case. */
  readonly headers: Iterable<readonly [name: string, value: string]>;
}

/** `vegeta encode` (JSON lines, its default). */
export function vegetaJson(context: ParserContext): Parser {
  return jsonLines((result, line) =>
    context.emit(
      reported({
        begun: readTime(asText(result["timestamp"]), line, context.zone).at,
        latency: asCount(result["latency"], "latency", line) / 1e6,
        code: asCount(result["code"], "code", line),
        bytesIn: asCount(result["bytes_in"] ?? 0, "bytes_in", line),
        error: asText(result["error"]),
        body: asText(result["body"]),
        url: asText(result["url"]),
        headers: Object.entries(asObject(result["headers"])).map(
          ([name, values]) => [name, Array.isArray(values) ? asText(values[0]) : ""] as const,
        ),
      }),
    ),
  );
}

/**
 * `vegeta encode -to csv`: no header; timestamp (ns), status, latency (ns), bytes out, bytes in, error, body, attack, number, and since
 * version 12 method, URL and the answer's headers, the last in base64.
 */
export function vegetaCsv(context: ParserContext): Parser {
  return new CsvRecords((fields, line) => {
    if (fields.length < 9 || fields.length > 12)
      throw new BadLine(line, `has ${fields.length} fields; vegeta writes 12`);
    const text = (index: number): string => fields[index] ?? "";
    const number = (index: number, name: string): number => {
      if (!/^\d{1,20}$/.test(text(index)))
        throw new BadLine(line, `${quoted(text(index))} in column ${index + 1} is not a ${name}`);
      return Number(text(index));
    };
    context.emit(
      reported({
        begun: readTime(text(0), line, context.zone).at,
        code: number(1, "status"),
        latency: number(2, "latency in nanoseconds") / 1e6,
        bytesIn: number(4, "number of bytes"),
        error: text(5),
        body: text(6),
        url: text(10),
        headers: headerLines(text(11)),
      }),
    );
  });
}

function headerLines(base64: string): (readonly [string, string])[] {
  return Buffer.from(base64, "base64")
    .toString("latin1")
    .split("\r\n")
    .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()] as const);
}

/** The surest first: a header of the app, of the proxy, any other name of the pod. */
function answeredBy(headers: Result["headers"]): Pick<ReportedRequest, "pod" | "upstream"> {
  const named = new Map<string, string>();
  for (const [name, value] of headers)
    if (name.startsWith("X-") || name.startsWith("x-")) named.set(name.toLowerCase(), value);
  const pod = named.get("x-lameduck-pod");
  const upstream = named.get("x-lameduck-upstream");
  if (pod) return { pod };
  if (upstream) return { upstream };
  const claim = claimHeaders
    .map((name) => named.get(name))
    .find((value) => value !== undefined && value !== "");
  return claim === undefined ? {} : { pod: claim };
}

function reported({ begun, latency, code, bytesIn, error, body, url, headers }: Result): ReportedRequest {
  // Go's client puts method and URL before what failed up to the answer's head; what failed in the body stands alone.
  const inBody = code === 0 && error !== "" && !/^[A-Za-z]+ "/.test(error);
  return {
    begun,
    finished: begun + latency,
    url,
    status: code,
    error,
    answerBegun: inBody,
    received: bytesIn > 0 ? bytesIn : Math.floor((body.replace(/=+$/, "").length * 3) / 4),
    ...answeredBy(headers),
  };
}
