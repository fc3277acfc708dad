import { printable } from "@lameduck/drain/common";
import { styleText } from "node:util";
import type { Audit } from "../audit.ts";
import type { Finding, Severity } from "../finding.ts";
import { spellOrigin } from "../model/amount.ts";
import { excerpt, regionOf } from "./excerpt.ts";
import { isLive, nextStepOf, placeOf, whoseOf } from "./sentence.ts";
import { totals } from "./totals.ts";

const colors = { error: "red", warning: "yellow", info: "cyan", unknown: "magenta" } as const;

/** For people: each finding with its place, its arithmetic and what to do. */
export function textReport(audit: Audit, stream?: NodeJS.WriteStream): string {
  const paint = (style: Parameters<typeof styleText>[0], text: string): string =>
    stream ? styleText(style, printable(text), { stream }) : printable(text);
  const texts = new Map(audit.files.map(({ name, text }) => [name, text]));
  const blocks = audit.findings.map((finding) => blockOf(finding, (file) => texts.get(file) ?? "", paint));
  return [...blocks, `${printable(totals(audit))}\n`].join("\n");
}

type Paint = (style: "red" | "yellow" | "cyan" | "magenta" | "bold" | "dim", text: string) => string;

function blockOf(finding: Finding, textOf: (file: string) => string, paint: Paint): string {
  const { severity, message, rule, arithmetic, fix } = finding;
  const whose = whoseOf(finding);
  const head = `${printable(placeOf(finding))}: ${paint(colors[severity], labelOf(severity))}: ${paint("bold", message)} [${rule}]`;
  const notes = [
    ...(arithmetic
      ? [arithmetic.sum, ...arithmetic.terms.map(({ name, origin }) => `  ${name}: ${spellOrigin(origin)}`)]
      : []),
    nextStepOf(finding),
    ...(fix ? [`fix: ${fix.does}${isLive(finding.at.source.file) ? "" : " (--fix shows it)"}`] : []),
  ];
  return [
    head,
    `  ${paint("dim", whose)}`,
    ...marked(finding, textOf).map((line) => `  ${paint("dim", line)}`),
    ...notes.map((note) => `    ${printable(note)}`),
    "",
  ].join("\n");
}

function marked(finding: Finding, textOf: (file: string) => string): string[] {
  return isLive(finding.at.source.file) ? [] : excerpt(regionOf(finding.at, textOf));
}

function labelOf(severity: Severity): string {
  return severity === "info" ? "note" : severity;
}
