import { printable } from "@lameduck/drain/common";
import type { Audit } from "../audit.ts";
import type { Finding } from "../finding.ts";
import { nextStepOf, whoseOf, placeOf } from "./sentence.ts";
import { labelOf, totals } from "./totals.ts";

/** For a pipeline's page or a comment on a change. */
export function markdownReport(audit: Audit): string {
  const failures = audit.failures.map(({ message, code }) => `- not read: ${plain(message)} (${code})\n`);
  const parts = [
    `## lameduck audit\n\n${plain(totals(audit))}\n`,
    ...audit.findings.map((one) => itemOf(one)),
    failures.join(""),
  ];
  return parts.filter((part) => part !== "").join("\n");
}

function itemOf(finding: Finding): string {
  const { severity, rule, message, arithmetic } = finding;
  const sum = arithmetic ? `  \n  ${code(arithmetic.sum)}` : "";
  return `- **${labelOf(severity)}** ${code(placeOf(finding))} ${plain(whoseOf(finding))}: ${plain(message)} (${rule})${sum}  \n  ${plain(nextStepOf(finding))}\n`;
}

/** Names come from manifests that are not trusted: markup in them is escaped. */
function plain(text: string): string {
  return printable(text)
    .replaceAll(/[\\`*_[\]<>|#&@]/g, (character) => `\\${character}`)
    .replaceAll(/\s+/g, " ");
}

function code(text: string): string {
  return `\`${printable(text).replaceAll(/[`\s]+/g, " ")}\``;
}
