import { RecordTable, type Finished } from "../../generator/records.ts";
import type { Numbered } from "../transport/pack.ts";

/** Keeps records only until they have been sent away. */
export class RecordStream extends RecordTable {
  #ended: Numbered[] = [];
  #begun = 0;

  override get rows(): number {
    return this.#begun;
  }

  override begin(): number {
    return this.#begun++;
  }

  override write(row: number, record: Finished): void {
    this.#ended.push({ row, record });
  }

  /** Those that ended since the last call. */
  take(): Numbered[] {
    const taken = this.#ended;
    this.#ended = [];
    return taken;
  }
}
