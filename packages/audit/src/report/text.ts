import { printable } from "@lameduck/drain/common";
import { styleText } from "node:util";
import type { Audit } from "../audit.ts";
import { severities, type Finding } from "../finding.ts";
import { spellOrigin } from "../model/amount.ts";
import { excerpt, regionOf } from "./excerpt.ts";
import { byNamespace, byRule, worstFirst } from "./overview.ts";
import { isLive, nextStepOf, placeOf, whoseOf } from "./sentence.ts";
import { labelOf, totals } from "./totals.ts";

const colors = { error: "red", warning: "yellow", info: "cyan", unknown: "magenta" } as const;

/** So many findings are read one by one; of more a person wants to see first where they are. */
const mostInARow = 30;
/** On a screen so many are shown with all that is known of them. */
const mostInFull = 20;

/**
 * For people: each finding with its place, its arithmetic and what to do. Many begin with an overview, the worst ones first.
 * @param stream on which only the worst of many are shown in full, and the others in a line each.
 */
export function textReport(audit: Audit, stream?: NodeJS.WriteStream): string {
  const paint: Paint = (style, text) =>
    stream ? styleText(style, printable(text), { stream }) : printable(text);
  const texts = new Map(audit.files.map(({ name, text }) => [name, text]));
  const block = (finding: Finding): string => blockOf(finding, (file) => texts.get(file) ?? "", paint);
  const { findings } = audit;
  const total = `${printable(totals(audit))}\n`;
  if (findings.length <= mostInARow) return [...findings.map(block), total].join("\n");
  const sorted = worstFirst(findings);
  const full = stream ? sorted.slice(0, mostInFull) : sorted;
  const others = sorted.slice(full.length);
  return [
    `${total}\n${overviewOf(audit, paint)}`,
    ...full.map(block),
    ...(others.length === 0
      ? []
      : [
          [
            `The other ${others.length} in a line each; a file of --out FILE.html, or --rule NAME, shows all of them:`,
            ...others.map((finding) => headOf(finding, paint)),
            "",
          ].join("\n"),
        ]),
    total,
  ].join("\n");
}

function overviewOf(audit: Audit, paint: Paint): string {
  const spaces = byNamespace(audit).map(({ namespace, workloads, counts }) => [
    namespace,
    String(workloads),
    ...severities.map((severity) => String(counts[severity])),
  ]);
  const rules = byRule(audit).map(({ rule, counts, workloads, title }) => [
    rule,
    String(workloads),
    ...severities.map((severity) => String(counts[severity])),
    title,
  ]);
  return [
    ...columns([["namespace", "workloads", ...severities.map(labelOf)], ...spaces], [0], paint),
    "",
    ...columns([["rule", "workloads", ...severities.map(labelOf), ""], ...rules], [0, 6], paint),
    "",
  ].join("\n");
}

/** The first row is the head. @param left columns of texts; the others are numbers. */
function columns(rows: readonly (readonly string[])[], left: readonly number[], paint: Paint): string[] {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => printable(row[at] ?? "").length)),
  );
  return rows.map((row, index) => {
    const line = row
      .map((one, at) => (left.includes(at) ? one.padEnd(widths[at] ?? 0) : one.padStart(widths[at] ?? 0)))
      .join("  ")
      .trimEnd();
    return index === 0 ? paint("dim", line) : printable(line);
  });
}

type Paint = (style: "red" | "yellow" | "cyan" | "magenta" | "bold" | "dim", text: string) => string;

function blockOf(finding: Finding, textOf: (file: string) => string, paint: Paint): string {
  const { arithmetic, fix } = finding;
  const whose = whoseOf(finding);
  const notes = [
    ...(arithmetic
      ? [arithmetic.sum, ...arithmetic.terms.map(({ name, origin }) => `  ${name}: ${spellOrigin(origin)}`)]
      : []),
    nextStepOf(finding),
    ...(fix ? [`fix: ${fix.does}${isLive(finding.at.source.file) ? "" : " (--fix shows it)"}`] : []),
  ];
  return [
    headOf(finding, paint),
    `  ${paint("dim", whose)}`,
    ...marked(finding, textOf).map((line) => `  ${paint("dim", line)}`),
    ...notes.map((note) => `    ${printable(note)}`),
    "",
  ].join("\n");
}

function marked(finding: Finding, textOf: (file: string) => string): string[] {
  return isLive(finding.at.source.file) ? [] : excerpt(regionOf(finding.at, textOf));
}

function headOf(finding: Finding, paint: Paint): string {
  const { severity, message, rule } = finding;
  return `${printable(placeOf(finding))}: ${paint(colors[severity], labelOf(severity))}: ${paint("bold", message)} [${rule}]`;
}
