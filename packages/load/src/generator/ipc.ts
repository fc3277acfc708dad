/** What runs in a child process: takes messages, and cleans up when the parent has gone. */
interface Served<In> {
  receive(message: In): void;
  close?(): Promise<void> | void;
}

/**
 * Serves the process that started this one. A Ctrl-C reaches every process of the terminal at once, and timeout(1) or a CI runner ends the
 * whole process group; the parent decides what it means, so it is ignored here, and the end of the channel is the order to leave: also when the parent was killed.
 */
export function serveParent<In>(serve: (tell: (message: object) => void) => Served<In>): void {
  const tell = (message: object): void => {
    if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
  };
  const served = serve(tell);
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
