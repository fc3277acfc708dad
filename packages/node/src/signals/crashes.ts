import type { Settings } from "../options/settings.ts";
import type { Announcer } from "../reports/announce.ts";

type Crash = (message: string) => void;

/**
 * Asked for: an error that nobody catches, or a rejection that nobody handles, ends the process in order and not at once.
 * @returns what takes the listener off again.
 */
export function closeOnCrash(close: Crash): () => void {
  return onCrash((message) => {
    process.exitCode ||= 1;
    close(message);
  });
}

/**
 * From SIGTERM on, an uncaught error must not cost the requests in flight and the hooks that follow. Where the application handles
 * such errors itself, that stays as it is.
 * @returns what takes the listener off again.
 */
export function surviveCrashes(report: Crash): () => void {
  if (process.listenerCount("uncaughtException") > 0) return () => {};
  return onCrash((message) => {
    process.exitCode ??= 1;
    report(message);
  });
}

function onCrash(tell: Crash): () => void {
  const onError = (error: unknown, origin: string): void =>
    tell(`${origin}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  process.on("uncaughtException", onError);
  return () => void process.removeListener("uncaughtException", onError);
}

export function tellCrash(message: string, announcer: Announcer, log: Settings["log"]): void {
  // Without a listener of ours Node would have printed it.
  if (log === false) process.stderr.write(`${message}\n`);
  announcer.notice("crash", message);
}
