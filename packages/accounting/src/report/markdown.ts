import type { RemedyResult, Results } from "../model/results.ts";
import { advice } from "./advice.ts";
import { columns, texts } from "./table.ts";
import { betterBounds, causesOf, explanations, type Wording } from "./explanations.ts";
import { titleOf } from "./figures.ts";
import { verdictOf } from "./verdict.ts";
import { whole } from "../words.ts";

/** The comparison for the summary of a pipeline or a comment on a change (GitHub's and GitLab's dialect). */
export function markdownReport(results: Results, instead?: Wording): string {
  const { tool, remedies } = results;
  const [first, ...others] = columns;
  const heads = [instead?.title ?? first?.title ?? "", ...others.map(({ title }) => title)];
  const rule = columns.map(({ align }) => (align === "right" ? "---:" : "---"));
  const rows = remedies.map((result) => [...texts(result), `**${verdictOf(result)}**`]);
  return `${[
    `## lameduck ${tool}`,
    "",
    instead?.conclusion ?? advice(remedies),
    "",
    ...[heads, rule, ...rows].map(markdownRow),
    "",
    ...explanations(remedies, [...betterBounds(results), ...(instead?.notes ?? [])]).map(
      (note) => `- ${markdownText(note)}`,
    ),
    ...remedies.filter(({ lost }) => lost > 0).flatMap(why),
  ].join("\n")}\n`;
}

function why(result: RemedyResult): string[] {
  const { shown, rest } = causesOf(result);
  return [
    "",
    `### Why requests were lost: ${markdownText(titleOf(result))}`,
    "",
    ...shown.map(
      ({ lost, words, example }) => `- **${whole(lost)}** ${markdownText(words)}: ${markdownText(example)}`,
    ),
    ...(rest > 0 ? [`- **${whole(rest)}** by other causes`] : []),
  ];
}

export function markdownRow(cells: readonly string[]): string {
  return `| ${cells.map(markdownText).join(" | ")} |`;
}

/** Names come from manifests and servers: they are text, whatever they contain. */
export function markdownText(text: string): string {
  return text.replaceAll(/[\\`_[\]<>|]/g, "\\$&").replaceAll(/\s+/g, " ");
}
