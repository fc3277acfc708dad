import { constants } from "node:os";

/**
 * A handler of the program that calls process.exit() at its end would cost the program its hooks of `closed`. While somebody waits for hooks, such
 * a call returns; the process exits with its code once they have run.
 */
export class LateExit {
  #code: number | undefined;
  #waiting = 0;
  #original: typeof process.exit | undefined;

  /** What the program has asked for; undefined where it has not. */
  get code(): number | undefined {
    return this.#code;
  }

  /** The program has asked for its end in another way than by process.exit(). */
  ask(code: number): void {
    this.#code ??= code;
  }

  wait(): void {
    this.#waiting++;
    if (this.#original) return;
    // oxlint-disable-next-line typescript/unbound-method -- it is called with the process, and put back as it was
    this.#original = process.exit;
    process.exit = this.#exit as typeof process.exit;
  }

  end(): void {
    this.#waiting--;
    if (this.#waiting > 0 || process.exit !== this.#exit || !this.#original) return;
    process.exit = this.#original;
    this.#original = undefined;
  }

  /** Exits at once, also where somebody waits. */
  now(code: number): never {
    this.#waiting = 0;
    return process.exit(code);
  }

  readonly #exit = (code?: number | string | null): void => {
    if (this.#waiting > 0) this.#code ??= Number(code ?? process.exitCode ?? 0);
    else this.#original?.call(process, code);
  };
}

/**
 * Programs that have done their work send the signal to themselves.
 * @param keep called with each; true keeps it from the process.
 * @returns what takes it back.
 */
export function watchKill(name: NodeJS.Signals, keep: () => boolean): () => void {
  // oxlint-disable-next-line typescript/unbound-method -- it is called with the process, and put back as it was
  const original = process.kill;
  const watched = (pid: number, signal: string | number = "SIGTERM"): true => {
    const isOwn = pid === process.pid && (signal === name || signal === constants.signals[name]);
    return (isOwn && keep()) || original.call(process, pid, signal);
  };
  process.kill = watched;
  return () => {
    if (process.kill === watched) process.kill = original;
  };
}
