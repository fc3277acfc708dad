import { readFile } from "node:fs/promises";

export interface Usage {
  /** Of one core, since the call before. */
  readonly cores: number;
  /** Bytes. */
  readonly resident: number;
  /** Bytes, at most so far. */
  readonly peak: number;
}

/** Clock ticks a second, on every Linux that Node runs on. */
const ticks = 100;

/** Follows what a process costs. */
export class ProcessUsage {
  readonly #pid: number;
  #before: { readonly at: number; readonly busy: number } | undefined;

  constructor(pid: number) {
    this.#pid = pid;
  }

  async read(): Promise<Usage> {
    const stat = await readFile(`/proc/${this.#pid}/stat`, "utf8");
    // The command's name in parentheses may hold spaces; user and system time are fields 14 and 15.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const busy = (Number(fields[11]) + Number(fields[12])) / ticks;
    const at = performance.now() / 1_000;
    const before = this.#before;
    this.#before = { at, busy };
    const status = await readFile(`/proc/${this.#pid}/status`, "utf8");
    const bytes = (key: string): number =>
      Number(new RegExp(`^${key}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? 0) * 1_024;
    return {
      cores: before === undefined ? 0 : (busy - before.busy) / (at - before.at),
      resident: bytes("VmRSS"),
      peak: bytes("VmHWM"),
    };
  }
}
