import { writeSync } from "node:fs";
import type { LameduckEvent } from "../events.ts";
import type { Logger } from "../options/logger.ts";

export type Log = (event: LameduckEvent) => void;

export function makeLog(logger: Logger | false | undefined): Log {
  if (logger === false) return () => {};
  if (!logger) return (event) => writeLine(JSON.stringify(event));
  const write = writerFor(logger);
  return (event) => {
    // A closed logger must not stop the shutdown. Its failure is not logged: that would fail again.
    try {
      void Promise.resolve(write(event)).catch(() => undefined);
    } catch {}
  };
}

function writerFor(logger: Logger): (event: LameduckEvent) => unknown {
  const infoOf = (event: LameduckEvent): ((...args: unknown[]) => unknown) =>
    event.lameduck === "notice" && logger.warn ? logger.warn.bind(logger) : logger.info.bind(logger);
  // pino and bunyan merge the fields of a first object into their own JSON line, which parseEvent() reads as well.
  if ("child" in logger) return (event) => infoOf(event)(event, describe(event));
  return (event) => infoOf(event)(JSON.stringify(event));
}

function describe(event: LameduckEvent): string {
  if (event.lameduck === "notice") return event.message;
  const what = `lameduck: ${event.phase} (${event.reason})`;
  return event.phase === "closing"
    ? `${what}, held ${(event.hold / 1_000).toFixed(1)} s: ${event.explanation}`
    : what;
}

/** Synchronous, because lines written through a stream are lost when the process exits, and a closed stderr must not kill us. */
function writeLine(line: string): void {
  const bytes = Buffer.from(`${line}\n`);
  let from = 0;
  for (let attempt = 0; from < bytes.length && attempt < 100; attempt++) {
    try {
      from += writeSync(2, bytes, from);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") return;
    }
  }
}
