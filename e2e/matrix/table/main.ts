/**
 * `npm run matrix:table` prints the tables of docs/evidence/results.md from the record (matrix/recorded.json). --record first takes the rows
 * of matrix/results into it. --write puts the tables into the page. --check exits with 1 where the page differs from the record.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readRows } from "../kept.ts";
import { inPage, markdown } from "./markdown.ts";
import { readRecorded, record } from "./recorded.ts";
import { commandLine } from "../../../scripts/command-line.ts";

const page = join(import.meta.dirname, "..", "..", "..", "docs", "evidence", "results.md");

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
      "docs/evidence/results.md does not say what e2e/matrix/recorded.json does: npm run matrix:table -- --write\n",
    );
    process.exitCode = 1;
  }
} else process.stdout.write(`${markdown(rows)}\n`);
