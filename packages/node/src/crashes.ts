/**
 * From SIGTERM on, an uncaught error must not cost the requests in flight and the hooks that follow. Where the application handles
 * such errors itself, that stays as it is.
 * @returns what takes the listener off again.
 */
export function surviveCrashes(report: (message: string) => void): () => void {
  if (process.listenerCount("uncaughtException") > 0) return () => {};
  const onError = (error: unknown, origin: string): void => {
    process.exitCode ??= 1;
    report(`${origin}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  };
  process.on("uncaughtException", onError);
  return () => process.removeListener("uncaughtException", onError);
}
