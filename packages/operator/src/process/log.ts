import { destination, type Logger, pino } from "pino";
import type { LogLevel } from "./flag-values.ts";

/** JSON lines on stderr. Synchronous: what is written last must not be lost at the exit. */
export function processLog({
  logLevel,
  name,
}: {
  readonly logLevel: LogLevel;
  /** This replica. */
  readonly name: string;
}): Logger {
  return pino({ level: logLevel, base: { pod: name } }, destination({ dest: 2, sync: true }));
}
