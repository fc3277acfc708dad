import { mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A new directory whose name mount options can hold: no comma, colon, quote, backslash or space. */
export function scratchFolder(): string {
  const wanted = realpathSync(tmpdir());
  return mkdtempSync(join(/[,:"'\\\s]/.test(wanted) ? "/tmp" : wanted, "lameduck-"));
}
