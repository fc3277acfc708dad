/**
 * Writes the tables of docs/consumers.md and docs/audit.md from the facts of the kinds of senders; `--check` only compares, and
 * exits with 1 where they differ.
 */
import { fileURLToPath } from "node:url";
import { pageWith, table } from "../packages/options/generate/pages.ts";
import { kinds } from "../packages/senders/src/index.ts";
import { writeMade } from "./format-page.ts";

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
  writeMade(path, text, `docs/${page} is not what the facts say: run node scripts/senders-page.ts`);
}
