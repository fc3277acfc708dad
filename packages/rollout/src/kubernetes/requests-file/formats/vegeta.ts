import { BadLine, quoted } from "../bad-line.ts";
import { CsvRecords } from "../csv.ts";
import { asCount, asObject, asText, readObject, type JsonObject } from "../json.ts";
import type { Parser, ParserContext, ToldRequest } from "../request.ts";
import { readTime } from "../time.ts";

/** The headers that tell who answered, as Go writes their names. */
type TellingHeader = "X-Lameduck-Pod" | "X-Lameduck-Upstream";

const headerPatterns: Readonly<Record<TellingHeader, RegExp>> = {
  "X-Lameduck-Pod": /^X-Lameduck-Pod: *([^\r\n]*)/m,
  "X-Lameduck-Upstream": /^X-Lameduck-Upstream: *([^\r\n]*)/m,
};

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
  readonly header: (name: TellingHeader) => string;
}

/** `vegeta encode` (JSON lines, its default). */
export function vegetaJson(context: ParserContext): Parser {
  return {
    line: (text, line) => {
      if (text.trim() === "") return;
      const result = readObject(text, line);
      const headers = asObject(result["headers"]);
      context.emit(
        told({
          begun: readTime(asText(result["timestamp"]), line, context.zone).at,
          latency: asCount(result["latency"], "latency", line) / 1e6,
          code: asCount(result["code"], "code", line),
          bytesIn: asCount(result["bytes_in"] ?? 0, "bytes_in", line),
          error: asText(result["error"]),
          body: asText(result["body"]),
          url: asText(result["url"]),
          header: (name) => headerOf(headers, name),
        }),
      );
    },
    end: () => undefined,
  };
}

function headerOf(headers: JsonObject, name: string): string {
  const values = headers[name];
  return Array.isArray(values) ? asText(values[0]) : "";
}

/**
 * `vegeta encode -to csv`: no header; timestamp (ns), status, latency (ns), bytes out, bytes in, error, body, attack, number, and since
 * version 12 method, URL and the answer's headers, the last in base64.
 */
export function vegetaCsv(context: ParserContext): Parser {
  const records = new CsvRecords((fields, line) => {
    if (fields.length < 9 || fields.length > 12)
      throw new BadLine(line, `has ${fields.length} fields; vegeta writes 12`);
    const text = (index: number): string => fields[index] ?? "";
    const number = (index: number, name: string): number => {
      if (!/^\d{1,20}$/.test(text(index)))
        throw new BadLine(line, `${quoted(text(index))} in column ${index + 1} is not a ${name}`);
      return Number(text(index));
    };
    let headers: string | undefined;
    context.emit(
      told({
        begun: readTime(text(0), line, context.zone).at,
        code: number(1, "status"),
        latency: number(2, "latency in nanoseconds") / 1e6,
        bytesIn: number(4, "number of bytes"),
        error: text(5),
        body: text(6),
        url: text(10),
        header: (name) => {
          headers ??= Buffer.from(text(11), "base64").toString("latin1");
          return headerPatterns[name].exec(headers)?.[1] ?? "";
        },
      }),
    );
  });
  return { line: (text, number) => records.line(text, number), end: () => records.end() };
}

function told({ begun, latency, code, bytesIn, error, body, url, header }: Result): ToldRequest {
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
    pod: header("X-Lameduck-Pod") || undefined,
    upstream: header("X-Lameduck-Upstream") || undefined,
  };
}
