/**
 * Writes the tables of docs/consumers.md and docs/audit.md from the facts of the kinds of senders; `--check` only compares, and
 * exits with 1 where they differ.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { pageWith, table } from "../packages/options/generate/pages.ts";
import { kinds } from "../packages/senders/src/index.ts";

const read = kinds.flatMap(({ consumer }) =>
  (consumer?.reads ?? []).map(({ form = consumer?.usage, what, letGoWhen, basis = "proof" }) => [
    `\`${form}\``,
    what,
    letGoWhen,
    basis,
  ]),
);
const seen = kinds.flatMap(({ seen: senders = [] }) =>
  senders.map(({ name, knownBy, seconds, because }) => [name, knownBy, `${seconds} s`, because]),
);

const pages = [
  [
    "consumers.md",
    "`--consumer`",
    table(["`--consumer`", "what is read", "an address is let go of when", "basis"], read),
  ],
  ["audit.md", "sender", table(["sender", "known by", "converges in", "because"], seen)],
] as const;

for (const [page, firstCell, written] of pages) {
  const path = fileURLToPath(new URL(`../docs/${page}`, import.meta.url));
  const text = await pageWith(path, firstCell, written);
  if (!process.argv.includes("--check")) writeFileSync(path, text);
  else if (readFileSync(path, "utf8") !== text) {
    console.error(`docs/${page} is not what the facts say: run node scripts/senders-page.ts`);
    process.exitCode = 1;
  }
}
