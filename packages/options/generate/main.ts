/**
 * Writes what follows from the table of options:
 *
 *     node packages/options/generate/main.ts [--check]
 *
 * --check only compares, and exits with 1 where something differs.
 */
import { writeMade } from "../../../scripts/format-page.ts";
import { doubles } from "./doubles.ts";
import { generated, root } from "./files.ts";

const twice = doubles();
if (twice.length > 0) {
  process.stderr.write(`names of two options in packages/options/src/table.ts:\n${twice.join("\n")}\n`);
  process.exit(1);
}
for (const [path, text] of await generated()) {
  const different = `${path} is not what the table of options says: run node packages/options/generate/main.ts`;
  writeMade(root + path, text, different);
}
