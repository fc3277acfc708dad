import { asObject, type Parser, type ParserContext } from "./parser.ts";
import { k6 } from "./k6.ts";
import { plain } from "./plain.ts";
import { vegeta } from "./vegeta.ts";

/** Every form that is read, and what is called so. */
export const formats = { k6, vegeta, plain } as const satisfies Record<
  string,
  (context: ParserContext) => Parser
>;

export type RequestsFormat = keyof typeof formats;

/** The form of a file by the keys of its first line that is not empty; undefined where it is none of the three. */
export function detect(line: string): RequestsFormat | undefined {
  let object: Readonly<Record<string, unknown>>;
  try {
    object = asObject(JSON.parse(line));
  } catch {
    return undefined;
  }
  const has = (...names: readonly string[]): boolean => names.every((name) => name in object);
  if (has("metric", "type", "data")) return "k6";
  if (has("timestamp", "latency", "code")) return "vegeta";
  return has("time") && (has("status") || has("error")) ? "plain" : undefined;
}
