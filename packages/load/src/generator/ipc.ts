/** What runs in a child process: takes messages, and cleans up when the parent has gone. */
interface Served<In> {
  receive(message: In): void;
  close?(): Promise<void> | void;
}

/**
 * Serves the process that started this one. SIGINT and SIGTERM are ignored here: Ctrl-C, timeout(1) and CI runners signal the
 * whole process group, and the parent decides what that means. The end of the channel ends this process, also when the parent
 * was killed.
 */
export function serveParent<In>(serve: (send: (message: object) => void) => Served<In>): void {
  const send = (message: object): void => {
    if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
  };
  const served = serve(send);
  process.on("SIGINT", () => undefined);
  process.on("SIGHUP", () => undefined);
  process.on("SIGTERM", () => undefined);
  process.on("message", (message) => served.receive(message as In));
  process.on("disconnect", () => {
    void leave(served);
  });
}

async function leave(served: Served<never>): Promise<void> {
  try {
    await served.close?.();
  } finally {
    process.exit();
  }
}
