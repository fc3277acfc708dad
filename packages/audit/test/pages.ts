import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { markdownTable } from "../../../scripts/format-page.ts";
import { factNames } from "../src/facts/facts.ts";
import type { Rule } from "../src/index.ts";

const golden = join(import.meta.dirname, "golden");

/** The page of a rule: what it means, and what the audit really says of its examples. */
export function pageOf({ id, title, meaning, remedy, references }: Rule): string {
  const examples = globSync(`${id}/*.yaml`, { cwd: golden })
    .filter((path) => !path.endsWith(".fixed.yaml"))
    .sort();
  const text = (path: string): string => readFileSync(join(golden, path), "utf8");
  const parts = [
    `# ${id}`,
    `**${title}.**`,
    meaning.trim(),
    `**What to do:** ${remedy}.`,
    ...(references.length > 0 ? ["Sources:", references.map((one) => `- <${one}>`).join("\n")] : []),
    "## Examples",
    ...examples.flatMap((path) => exampleOf(path, text)),
    "To live with a finding, annotate the workload with the reason:",
    `\`\`\`yaml\nmetadata:\n  annotations:\n    lameduck.dev/ignore-${id}: "why it is no problem here"\n\`\`\``,
  ];
  return `${parts.join("\n\n")}\n`;
}

function exampleOf(path: string, text: (path: string) => string): string[] {
  const name = path.split("/").at(-1) ?? path;
  const isBad = name.startsWith("bad");
  const base = path.replace(/\.yaml$/, "");
  return [
    `### ${name}`,
    fenced("yaml", text(path)),
    ...(isBad
      ? [
          `\`lameduck audit --rule ${path.split("/").at(-2)} ${name}\` says:`,
          fenced("text", text(`${base}.txt`)),
        ]
      : ["Nothing is found by this rule."]),
    ...(globSync(`${base}.fixed.yaml`, { cwd: golden }).length > 0
      ? ["`--fix --write` makes of it:", fenced("yaml", text(`${base}.fixed.yaml`))]
      : []),
  ];
}

function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;
}

/** Tables of docs/tools/audit.md, by the names of their marks. */
export function tablesOf(rules: readonly Rule[]): Readonly<Record<string, string>> {
  return {
    questions: markdownTable(
      ["name", "the question"],
      Object.entries(factNames).map(([name, question]) => [`\`${name}\``, question]),
    ),
    rules: markdownTable(
      ["Rule", "What it finds"],
      rules.map(({ id, title }) => [`[${id}](../rules/${id}.md)`, title]),
    ),
  };
}
