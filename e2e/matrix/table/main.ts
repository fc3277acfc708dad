/**
 * `npm run matrix:table` prints the tables of docs/cluster.md from the record (matrix/recorded.json). --record takes the rows that lie in matrix/results
 * into it first, --write puts the tables into the page, --check ends with 1 when the page does not hold what the record says.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readRows } from "../kept.ts";
import { inPage } from "./page.ts";
import { markdown } from "./markdown.ts";
import { readRecorded, record } from "./recorded.ts";
import { commandLine } from "../../../scripts/command-line.ts";

const page = join(import.meta.dirname, "..", "..", "..", "docs", "cluster.md");

const { values } = commandLine(import.meta.url, {
  options: {
    record: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
  },
});

const rows = values.record ? await record(await readRows()) : await readRecorded();
const text = await readFile(page, "utf8");
const wanted = await inPage(text, markdown(rows));
if (values.write) await writeFile(page, wanted);
else if (values.check) {
  if (text !== wanted) {
    process.stderr.write(
      "docs/cluster.md does not say what e2e/matrix/recorded.json does: npm run matrix:table -- --write\n",
    );
    process.exitCode = 1;
  }
} else process.stdout.write(`${markdown(rows)}\n`);
