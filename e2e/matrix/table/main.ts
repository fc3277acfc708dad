/**
 * `npm run matrix:table` prints the tables of docs/cluster.md from the record (matrix/recorded.json). --record first takes the rows
 * of matrix/results into it. --write puts the tables into the page and draws docs/race.svg. --check exits with 1 where page or
 * picture differ from the record.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readRows } from "../kept.ts";
import { inPage, markdown } from "./markdown.ts";
import { race } from "./race.ts";
import { readRecorded, record } from "./recorded.ts";
import { commandLine } from "../../../scripts/command-line.ts";

const docs = join(import.meta.dirname, "..", "..", "..", "docs");
const page = join(docs, "cluster.md");
const picture = join(docs, "race.svg");

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
const drawn = race(rows);
if (values.write) {
  await writeFile(page, wanted);
  await writeFile(picture, drawn);
} else if (values.check) {
  if (text !== wanted || (await readFile(picture, "utf8")) !== drawn) {
    process.stderr.write(
      "docs/cluster.md or docs/race.svg do not say what e2e/matrix/recorded.json does: npm run matrix:table -- --write\n",
    );
    process.exitCode = 1;
  }
} else process.stdout.write(`${markdown(rows)}\n`);
