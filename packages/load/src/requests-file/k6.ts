import { BadLine } from "./errors.ts";
import { asCount, asObject, asText, asTime, readObject, type Parser, type ParserContext } from "./parser.ts";

/** Tags or metadata in which scripts of k6 keep the header of an answer that names its pod. */
const podTags = ["pod", "lameduck_pod", "x-lameduck-pod"];

/** k6 reports dropped iterations one by one. */
const mostDropped = 100_000;

/** What is needed of the tags of a request, and the durations in its later samples, in milliseconds. */
interface Request {
  readonly end: number;
  readonly tags: Readonly<Record<"status" | "error" | "url" | "ip" | "expected" | "pod", string>>;
  readonly reported: Map<string, number>;
}

/**
 * The points of `k6 run --out json=FILE`: eight or nine for each request, one after the other, each with the time at which the request ended.
 * http_reqs is the first, then http_req_duration (sending, waiting and receiving), http_req_blocked (waiting for a connection), and the parts.
 */
export const k6 = (context: ParserContext): Parser => new Points(context);

class Points implements Parser {
  readonly #context: ParserContext;
  #request: Request | undefined;

  constructor(context: ParserContext) {
    this.#context = context;
  }

  line(text: string, line: number): void {
    // To look for the metrics that matter costs a tenth of parsing a line.
    if (text.trim() === "") return;
    if (!text.includes('"http_req') && !text.includes('"dropped_iterations"')) {
      if (!text.startsWith("{") || !text.endsWith("}")) throw new BadLine(line, "is not JSON");
      return;
    }
    const { type, metric, data } = readObject(text, line);
    if (type !== "Point") return;
    const { time, value, tags, metadata } = asObject(data);
    const count = asCount(value, "data.value", line);
    if (metric === "http_reqs") {
      this.end();
      const both = [asObject(tags), asObject(metadata)] as const;
      const tag = (name: string): string => asText(both[0][name]) || asText(both[1][name]);
      this.#request = {
        end: asTime(time, line),
        tags: {
          status: tag("status"),
          error: tag("error") || errorOfCode(tag("error_code")),
          url: tag("url") || tag("name"),
          ip: tag("ip"),
          expected: tag("expected_response"),
          pod: podTags.map(tag).find((pod) => pod !== "") ?? "",
        },
        reported: new Map(),
      };
    } else if (metric === "dropped_iterations") {
      this.end();
      const at = asTime(time, line);
      if (count > mostDropped) throw new BadLine(line, "drops more iterations at once than can be");
      for (let dropped = 0; dropped < count; dropped++)
        this.#context.emit({ begun: at, finished: at, dropped: true, error: "dropped_iterations" });
    } else this.#request?.reported.set(asText(metric), count);
  }

  end(): void {
    if (!this.#request) return;
    const { end: finished, tags, reported } = this.#request;
    this.#request = undefined;
    const time = (name: string): number => reported.get(`http_req_${name}`) ?? 0;
    const written = time("sending") > 0 || time("waiting") > 0;
    const failed = tags.error !== "";
    this.#context.emit({
      begun: finished - time("duration") - time("blocked"),
      finished,
      sent: written ? finished - time("duration") : undefined,
      url: tags.url,
      status: Number(tags.status) || 0,
      // Before it had a connection it can only have waited for one.
      error: failed && !written && tags.error === "request timeout" ? "dial: request timeout" : tags.error,
      answerBegun: time("receiving") > 0,
      meant: tags.expected === "true",
      reused: time("connecting") > 0 ? false : written ? true : undefined,
      pod: tags.pod || undefined,
      address: tags.ip || undefined,
    });
  }
}

/** If the tag "error" is switched off, its code is still there. The numbers are k6's documented ones. */
function errorOfCode(code: string): string {
  const known: Readonly<Record<string, string>> = {
    "1050": "request timeout",
    "1100": "lookup failed",
    "1101": "lookup: no such host",
    "1201": "broken pipe",
    "1210": "dial failed",
    "1211": "dial: i/o timeout",
    "1212": "dial: connection refused",
    "1220": "connection reset by peer",
  };
  // 1400 to 1599 repeat the status.
  return /^1[45]\d\d$/.test(code) || code === "" ? "" : (known[code] ?? `k6 error ${code}`);
}
