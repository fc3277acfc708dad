import { BadLine } from "../errors.ts";
import { csvTable } from "../csv.ts";
import { asCount, asObject, asText, readObject } from "../json.ts";
import type { Parser, ParserContext } from "../request.ts";
import { readTime, type ReadTime } from "../time.ts";

/** Names that people give the tag (or the metadata) in which they note the pod's header. */
const podTags = ["pod", "lameduck_pod", "x-lameduck-pod"];

/** k6 reports dropped iterations one by one. */
const mostDropped = 100_000;

/** One k6 sample: a metric's value with the tags of the request it belongs to. */
interface Sample {
  readonly metric: string;
  readonly time: () => ReadTime;
  readonly value: number;
  readonly tag: (name: string) => string;
}

/** What is needed of the tags of a request, and the durations in its later samples, in milliseconds. */
interface Request {
  readonly end: ReadTime;
  readonly tags: Readonly<Record<"status" | "error" | "url" | "ip" | "expected" | "pod", string>>;
  readonly reported: Map<string, number>;
}

/**
 * k6 writes eight or nine samples for each request, one after the other, each with the time at which the request ended:
 * http_reqs, then http_req_duration (sending, waiting and receiving), http_req_blocked (waiting for a connection), and the parts.
 */
class Requests {
  readonly #context: ParserContext;
  #request: Request | undefined;

  constructor(context: ParserContext) {
    this.#context = context;
  }

  add({ metric, time, value, tag }: Sample, line: number): void {
    if (metric === "http_reqs") {
      this.end();
      const end = time();
      if (end.resolution > 1) this.#context.coarse(end.resolution);
      this.#request = {
        end,
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
      const { at } = time();
      if (value > mostDropped) throw new BadLine(line, "drops more iterations at once than can be");
      for (let dropped = 0; dropped < value; dropped++)
        this.#context.emit({ begun: at, finished: at, dropped: true, error: "dropped_iterations" });
    } else this.#request?.reported.set(metric, value);
  }

  end(): void {
    if (!this.#request) return;
    const { end, tags, reported } = this.#request;
    this.#request = undefined;
    const time = (name: string): number => reported.get(`http_req_${name}`) ?? 0;
    // Half a resolution on: times are cut, not rounded.
    const finished = end.at + (end.resolution > 1 ? end.resolution / 2 : 0);
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

/** The points of `k6 run --out json=FILE`. */
export function k6Json(context: ParserContext): Parser {
  const requests = new Requests(context);
  return {
    line: (text, line) => {
      // To look for the metrics that matter costs a tenth of parsing a line.
      if (text.trim() === "") return;
      if (!text.includes('"http_req') && !text.includes('"dropped_iterations"')) {
        if (!text.startsWith("{") || !text.endsWith("}")) throw new BadLine(line, "is not JSON");
        return;
      }
      const { type, metric, data } = readObject(text, line);
      if (type !== "Point") return;
      const { time, value, tags, metadata } = asObject(data);
      const both = [asObject(tags), asObject(metadata)];
      requests.add(
        {
          metric: asText(metric),
          time: () => readTime(asText(time), line, context.zone),
          value: asCount(value, "data.value", line),
          tag: (name) => asText(both[0]?.[name]) || asText(both[1]?.[name]),
        },
        line,
      );
    },
    end: () => requests.end(),
  };
}

/** The rows of `k6 run --out csv=FILE`; which columns there are depends on --system-tags. */
export function k6Csv(context: ParserContext): Parser {
  const requests = new Requests(context);
  const rows = csvTable(
    (names, line) => {
      for (const needed of ["metric_name", "timestamp", "metric_value"])
        if (!names.includes(needed)) throw new BadLine(line, `has no column ${needed}`);
      return names;
    },
    (field, line) => {
      const metric = field("metric_name");
      if (!metric.startsWith("http_req") && metric !== "dropped_iterations") return;
      const sample: Sample = {
        metric,
        time: () => readTime(field("timestamp"), line, context.zone),
        value: asCount(Number(field("metric_value")), "metric_value", line),
        tag: (name) => field(name) || packed(field("extra_tags"), name) || packed(field("metadata"), name),
      };
      requests.add(sample, line);
    },
  );
  return {
    line: (text, number) => rows.line(text, number),
    end: () => {
      rows.end();
      requests.end();
    },
  };
}

/** "a=1&b=2", unescaped. */
function packed(text: string, name: string): string {
  for (const pair of text === "" ? [] : text.split("&"))
    if (pair.startsWith(`${name}=`)) return pair.slice(name.length + 1);
  return "";
}
