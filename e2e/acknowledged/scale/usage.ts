import { readFile } from "node:fs/promises";
import { busyIn, bytesIn } from "../process-usage.ts";

export interface Usage {
  /** Of one core, since the call before. */
  readonly cores: number;
  /** Bytes. */
  readonly resident: number;
  /** Bytes, at most so far. */
  readonly peak: number;
}

/** Follows what a process costs. */
export class ProcessUsage {
  readonly #pid: number;
  #before: { readonly at: number; readonly busy: number } | undefined;

  constructor(pid: number) {
    this.#pid = pid;
  }

  async read(): Promise<Usage> {
    const busy = busyIn(await readFile(`/proc/${this.#pid}/stat`, "utf8"));
    const at = performance.now() / 1_000;
    const before = this.#before;
    this.#before = { at, busy };
    const status = await readFile(`/proc/${this.#pid}/status`, "utf8");
    return {
      cores: before === undefined ? 0 : (busy - before.busy) / (at - before.at),
      resident: bytesIn(status, "VmRSS"),
      peak: bytesIn(status, "VmHWM"),
    };
  }
}
