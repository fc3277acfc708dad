import type { Settings } from "../options/settings.ts";
import type { Announcer } from "../reports/announce.ts";

type Crash = (message: string) => void;

/**
 * Asked for: an error that nobody catches, or a rejection that nobody handles, ends the process in order and not at once.
 * @returns what takes the listener off again.
 */
export function closeOnCrash(close: Crash): () => void {
  const onError = (error: unknown, origin: string): void => {
    process.exitCode ||= 1;
    close(describe(error, origin));
  };
  process.on("uncaughtException", onError);
  return () => void process.removeListener("uncaughtException", onError);
}

/**
 * From SIGTERM on, an uncaught error must not cost the requests in flight and the hooks that follow. Where the application handles
 * such errors itself, that stays as it is.
 * @returns what takes the listener off again.
 */
export function surviveCrashes(report: Crash): () => void {
  if (process.listenerCount("uncaughtException") > 0) return () => {};
  const onError = (error: unknown, origin: string): void => {
    process.exitCode ??= 1;
    report(describe(error, origin));
  };
  process.on("uncaughtException", onError);
  return () => process.removeListener("uncaughtException", onError);
}

function describe(error: unknown, origin: string): string {
  return `${origin}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

export function tellCrash(message: string, announcer: Announcer, log: Settings["log"]): void {
  // Without a listener of ours Node would have printed it.
  if (log === false) process.stderr.write(`${message}\n`);
  announcer.notice("crash", message);
}
