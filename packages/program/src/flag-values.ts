import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { parseDuration } from "@lameduck/drain";
import { messageOf } from "@lameduck/drain/common";
import { OperatorError } from "@lameduck/protocol";

export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

export const text = { type: "string" } as const;
export const texts = { type: "string", multiple: true } as const;
export const help = { type: "boolean", short: "h" } as const;

/** Flags alone: what stands beside them is told as wrong. @throws {OperatorError} */
export function parseFlags<T extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: T,
): ReturnType<typeof parseArgs<{ options: T; allowPositionals: true }>>["values"] {
  try {
    const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options });
    if (positionals.length > 0) throw badFlag("command", `"${positionals.join(" ")}" is no flag`);
    return values;
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw badFlag("command line", messageOf(error).split(". ")[0] ?? "");
  }
}

/** @throws {OperatorError} */
export function port(flag: string, text: string | undefined, otherwise: number): number {
  const value = text === undefined ? otherwise : /^\d{1,5}$/.test(text) ? Number(text) : NaN;
  if (!(value <= 65_535)) throw badFlag(flag, `"${text}" is no port`);
  return value;
}

/** From 1 to 100,000. @throws {OperatorError} */
export function count(flag: string, text: string | undefined, otherwise: number): number {
  const value = text === undefined ? otherwise : /^\d{1,6}$/.test(text) ? Number(text) : NaN;
  if (!(value >= 1 && value <= 100_000)) throw badFlag(flag, `"${text}" is no count from 1 to 100000`);
  return value;
}

/** Milliseconds. Also days: the drain's durations end at hours. @throws {OperatorError} */
export function time(flag: string, value: string): number {
  const days = /^(\d{1,5})d$/.exec(value)?.[1];
  try {
    const milliseconds = days === undefined ? parseDuration(value, flag) : Number(days) * 86_400_000;
    if (milliseconds >= 1_000) return milliseconds;
  } catch {
    // Thrown below.
  }
  throw badFlag(flag, `"${value}" is no time of a second or more, such as 12h or 90d`);
}

/** @throws {OperatorError} */
export function logLevel(value = "info"): LogLevel {
  const level = logLevels.find((one) => one === value);
  if (level === undefined) throw badFlag("--log-level", `"${value}" is none of ${logLevels.join(", ")}`);
  return level;
}

export function badFlag(place: string, problem: string): OperatorError {
  return new OperatorError("LAMEDUCK_OPERATOR_BAD_FLAG", place, problem);
}
