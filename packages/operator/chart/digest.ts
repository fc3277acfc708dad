import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const chartDirectory = join(import.meta.dirname, "lameduck");

/** Tells whether what was rendered from the chart was rendered from this one. */
export function chartDigest(): string {
  const hash = createHash("sha256");
  for (const name of readdirSync(chartDirectory, { recursive: true, encoding: "utf8" }).sort())
    if (/\.(yaml|json|tpl)$/.test(name))
      hash.update(`${name}\n`).update(readFileSync(join(chartDirectory, name)));
  return hash.digest("hex").slice(0, 16);
}
