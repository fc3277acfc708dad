import { exitCodeOfSignal } from "./exit-codes.ts";

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Until `release` the first of these signals aborts `signal`, and the second ends the process. */
interface Interrupt {
  readonly signal: AbortSignal;
  /** That of the first signal. */
  readonly exitCode: number;
  release(): void;
}

/** Does what a signal may break off. @returns its exit code, or that of the signal. The client is closed in any case. */
export async function interruptible(
  client: { close(): void },
  work: (signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const interrupt = catchInterrupt();
  try {
    return await work(interrupt.signal);
  } catch (error) {
    if (interrupt.signal.aborted) return interrupt.exitCode;
    throw error;
  } finally {
    interrupt.release();
    client.close();
  }
}

/** Standard input may never end, and who reads it hears no signal. */
const endInput = (): void => void process.stdin.destroy();

export function catchInterrupt(onFirst: () => void = endInput): Interrupt {
  const controller = new AbortController();
  let exitCode = exitCodeOfSignal("SIGINT");
  const heard = (signal: NodeJS.Signals): void => {
    if (controller.signal.aborted) process.exit(exitCodeOfSignal(signal));
    exitCode = exitCodeOfSignal(signal);
    onFirst();
    controller.abort(new Error("interrupted"));
  };
  for (const signal of signals) process.on(signal, heard);
  return {
    signal: controller.signal,
    get exitCode() {
      return exitCode;
    },
    release: () => {
      for (const signal of signals) process.off(signal, heard);
    },
  };
}
