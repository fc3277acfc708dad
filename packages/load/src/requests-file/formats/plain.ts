import { BadLine, quoted } from "../errors.ts";
import { csvTable } from "../csv.ts";
import { asText, jsonLines } from "../json.ts";
import type { Parser, ParserContext } from "../request.ts";
import { readDuration, readTime } from "../time.ts";

/** The columns (CSV) or keys (JSON lines) of our own form; others are left alone. docs/rollout.md explains them. */
const plainColumns = ["time", "url", "status", "error", "latency", "pod", "connection"] as const;

type Column = (typeof plainColumns)[number];

/** Whether a header has what is needed: when, and what came of it. */
export function isPlain(names: readonly string[]): boolean {
  return names.includes("time") && (names.includes("status") || names.includes("error"));
}

export function plainCsv(context: ParserContext): Parser {
  return csvTable(
    (names) => names.map((name) => name.trim().toLowerCase()),
    (field, line) => read(context, line, (name) => field(name).trim()),
  );
}

export function plainJson(context: ParserContext): Parser {
  return jsonLines((object, line) => read(context, line, (name) => asText(object[name])));
}

function read(context: ParserContext, line: number, value: (name: Column) => string): void {
  const time = readTime(value("time"), line, context.zone);
  if (time.resolution > 1) context.coarse(time.resolution);
  const begun = time.at + (time.resolution > 1 ? time.resolution / 2 : 0);
  const status = value("status") === "" ? 0 : Number(value("status"));
  if (!Number.isInteger(status) || status < 0 || status > 999)
    throw new BadLine(line, `${quoted(value("status"))} is not a status`);
  const error = value("error");
  if (status === 0 && error === "") throw new BadLine(line, "has neither a status nor an error");
  const latency = value("latency") === "" ? 0 : readDuration(value("latency"), line);
  context.emit({
    begun,
    finished: begun + latency,
    url: value("url") || undefined,
    status,
    error,
    pod: value("pod") || undefined,
    reused: connection(value("connection"), line),
  });
}

function connection(text: string, line: number): boolean | undefined {
  if (text === "") return undefined;
  if (text === "new" || text === "reused") return text === "reused";
  throw new BadLine(line, `${quoted(text)} is neither "new" nor "reused"`);
}
