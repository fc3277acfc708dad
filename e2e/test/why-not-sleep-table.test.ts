import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { markdownTable, pageWithin } from "../../scripts/format-page.ts";
import { readRecorded, type RecordedRow } from "../matrix/table/recorded.ts";

const page = join(import.meta.dirname, "..", "..", "docs", "understand", "why-not-sleep.md");

const shown: Readonly<Record<string, string>> = {
  "sleep-2": "sleep of 2 s",
  "sleep-5": "sleep of 5 s",
  "sleep-15": "sleep of 15 s",
  adaptive: "Lameduck's library",
  "init-wait": "Lameduck's hook",
};

it("the table of docs/understand/why-not-sleep.md says what the record says; UPDATE_DOCS=1 writes it", async () => {
  const text = await readFile(page, "utf8");
  const wanted = await pageOf(text, await readRecorded());
  if (process.env["UPDATE_DOCS"] === "1") await writeFile(page, wanted);
  assert.equal(await readFile(page, "utf8"), wanted, "UPDATE_DOCS=1 writes it anew");
});

it("a difference between the table and the record is seen", async () => {
  const text = await readFile(page, "utf8");
  const others = (await readRecorded()).map((row) => ({ ...row, lostNew: row.lostNew + 1 }));
  assert.notEqual(text, await pageOf(text, others));
});

function pageOf(text: string, recorded: readonly RecordedRow[]): Promise<string> {
  const rows = Object.entries(shown).map(([remedy, words]) => {
    const [row] = recorded
      .filter((one) => one.remedy === remedy && isUsual(one))
      .toSorted((a, b) => b.terminations - a.terminations);
    assert.ok(row, remedy);
    const { terminations, lostNew, lostPooled, hold } = row;
    const [median, longest] = [hold.p50, hold.max].map((one) => (one / 1_000).toFixed(1));
    return [words, String(terminations), `${lostNew}, ${lostPooled}`, `${median}, ${longest} s`];
  });
  const head = ["remedy", "terminations", "lost: new, pooled", "hold: median, longest"];
  return pageWithin(text, "measured", markdownTable(head, rows, ["---", "--:", "--:", "--:"]));
}

/** The load that the page names. */
function isUsual({ scenario, route, cpuLimit, requestsPerSecond, replicas }: RecordedRow): boolean {
  const isOfPage = requestsPerSecond === 600 && replicas === 20 && cpuLimit === undefined;
  return scenario === "rollout" && route === "cluster-ip" && isOfPage;
}
