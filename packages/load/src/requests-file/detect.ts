import { split } from "./csv.ts";
import { k6Csv, k6Json } from "./formats/k6.ts";
import { isPlain, plainCsv, plainJson } from "./formats/plain.ts";
import { vegetaCsv, vegetaJson } from "./formats/vegeta.ts";
import type { Parser, ParserContext } from "./request.ts";

/** Every form that is read, and what is called so. */
export const formats = {
  "k6-json": k6Json,
  "k6-csv": k6Csv,
  "vegeta-json": vegetaJson,
  "vegeta-csv": vegetaCsv,
  "plain-json": plainJson,
  "plain-csv": plainCsv,
} as const satisfies Record<string, (context: ParserContext) => Parser>;

export type RequestsFormat = keyof typeof formats;

/** A form that is known and not read, and what to do instead. */
export interface Unreadable {
  readonly unreadable: string;
}

/** The form of a file by its first line that is not empty. */
export function detect(line: string): RequestsFormat | Unreadable {
  const text = line.trimStart();
  if (text.startsWith("{")) return detectJson(text);
  if (text.startsWith("["))
    return { unreadable: "is one JSON array; write one object per line (jq -c '.[]' FILE)" };
  const fields = split(text)?.map((field) => field.trim()) ?? [];
  if (fields.includes("metric_name") && fields.includes("timestamp")) return "k6-csv";
  if (fields.length >= 9 && fields.length <= 12 && /^\d{18,19}$/.test(fields[0] ?? "")) return "vegeta-csv";
  const names = fields.map((field) => field.toLowerCase());
  if (isPlain(names)) return "plain-csv";
  if (names.includes("timestamp") && names.includes("elapsed") && names.includes("responsecode"))
    return { unreadable: "looks like JMeter's; rename its columns to time, latency, status, error, url" };
  if (names.includes("response-time") && names.includes("offset"))
    return { unreadable: "looks like hey's, which tells no times of day" };
  return { unreadable: "does not begin like any form that is read here" };
}

function detectJson(text: string): RequestsFormat | Unreadable {
  let object: Record<string, unknown>;
  try {
    object = JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { unreadable: "is JSON spread over lines; write one object per line (jq -c . FILE)" };
  }
  const has = (...names: readonly string[]): boolean => names.every((name) => name in object);
  if (has("metric", "type", "data")) return "k6-json";
  if (has("timestamp", "latency", "code")) return "vegeta-json";
  if (has("root_group", "metrics") || has("metrics", "thresholds"))
    return { unreadable: "is k6's summary; the requests are what --out json=FILE writes" };
  if (has("latencies", "status_codes"))
    return { unreadable: "is vegeta's report; the requests are what vegeta encode writes" };
  if (has("log")) return { unreadable: "looks like a HAR file, which is not read" };
  if (isPlain(Object.keys(object))) return "plain-json";
  return { unreadable: "is JSON, but of no form that is read here" };
}
