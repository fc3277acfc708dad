/**
 * Writes what follows from the table of options:
 *
 *     node packages/options/generate/main.ts [--check]
 *
 * --check only compares, and exits with 1 where something differs.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { doubles } from "./doubles.ts";
import { generated, root } from "./files.ts";

const isCheck = process.argv.includes("--check");
const twice = doubles();
if (twice.length > 0) {
  process.stderr.write(`names of two options in packages/options/src/table.ts:\n${twice.join("\n")}\n`);
  process.exit(1);
}
for (const [path, text] of await generated()) {
  if (!isCheck) writeFileSync(root + path, text);
  else if (readFileSync(root + path, "utf8") !== text) {
    process.stderr.write(
      `${path} is not what the table of options says: run node packages/options/generate/main.ts\n`,
    );
    process.exitCode = 1;
  }
}
