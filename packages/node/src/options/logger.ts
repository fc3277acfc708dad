import { shown } from "@lameduck/drain/common";
import { badOption } from "../errors.ts";

/** The part of pino, winston, bunyan or console that is used. */
export interface Logger {
  info(...args: unknown[]): unknown;
  warn?(...args: unknown[]): unknown;
}

/** @throws {LameduckError} */
export function parseLog(value: unknown): Logger | false | undefined {
  if (value === undefined || value === false) return value;
  const { info, warn } = Object(value) as Partial<Logger>;
  if (typeof info === "function" && (warn === undefined || typeof warn === "function"))
    return value as Logger;
  throw badOption(
    "log",
    `${shown(value)} is no logger: one has a method info(), and warn() if any is a method, too`,
  );
}
