/**
 * Writes what follows from the table of options:
 *
 *     node packages/options/generate/main.ts [--check]
 *
 * --check only compares, and exits with 1 where something differs.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { generated, root } from "./files.ts";

const isCheck = process.argv.includes("--check");
for (const [path, text] of await generated()) {
  if (!isCheck) writeFileSync(root + path, text);
  else if (readFileSync(root + path, "utf8") !== text) {
    process.stderr.write(
      `${path} is not what the table of options says: run node packages/options/generate/main.ts\n`,
    );
    process.exitCode = 1;
  }
}
