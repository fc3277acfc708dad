import { relative, sep } from "node:path";
import { pathToFileURL } from "node:url";
import type { Audit } from "../audit.ts";
import type { Finding, Severity } from "../finding.ts";
import { spell } from "../model/object.ts";
import { rules } from "../rules/index.ts";
import { fingerprintOf } from "../suppress/suppress.ts";
import { regionOf } from "./excerpt.ts";
import { isLive, sentenceOf } from "./sentence.ts";

const levels = {
  error: "error",
  warning: "warning",
  info: "note",
  unknown: "note",
} as const satisfies Record<Severity, string>;
/** GitHub keeps no more of one run. */
const mostResults = 5_000;

/** SARIF 2.1.0, for code scanning. @param rulePage the address of a rule's page. */
export function sarifReport(
  audit: Audit,
  version: string,
  rulePage: (id: string) => string | undefined,
): string {
  const texts = new Map(audit.files.map(({ name, text }) => [name, text]));
  const textOf = (file: string): string => texts.get(file) ?? "";
  const driver = {
    name: "lameduck audit",
    version,
    informationUri: rulePage(""),
    rules: rules.map(({ id, title, meaning, remedy }) => ({
      id,
      shortDescription: { text: title },
      fullDescription: { text: meaning.replace(/\s+/g, " ") },
      help: { text: remedy, markdown: `${meaning}\n\n**What to do:** ${remedy}` },
      helpUri: rulePage(id),
    })),
  };
  const results = [...audit.findings, ...audit.suppressed]
    .slice(0, mostResults)
    .map((finding) => resultOf(finding, textOf));
  const notifications = audit.failures.map(({ code, message }) => ({
    level: "error",
    descriptor: { id: code },
    message: { text: message },
  }));
  const run = {
    tool: { driver },
    columnKind: "utf16CodeUnits",
    results,
    invocations: [
      { executionSuccessful: audit.failures.length === 0, toolExecutionNotifications: notifications },
    ],
  };
  const schema = "https://json.schemastore.org/sarif-2.1.0.json";
  return `${JSON.stringify({ $schema: schema, version: "2.1.0", runs: [run] }, undefined, 2)}\n`;
}

function resultOf(finding: Finding, textOf: (file: string) => string): unknown {
  const { rule, severity, object, at, suppressed } = finding;
  const { file, line, column, endColumn } = regionOf(at, textOf);
  return {
    ruleId: rule,
    ruleIndex: rules.findIndex(({ id }) => id === rule),
    level: levels[severity],
    message: { text: sentenceOf(finding) },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: uriOf(file) },
          region: { startLine: line, startColumn: column, endLine: line, endColumn },
        },
        logicalLocations: [{ fullyQualifiedName: `${spell(object)}: ${at.path}` }],
      },
    ],
    // SARIF has kind "open" for a question, which GitHub does not show.
    properties: { severity },
    partialFingerprints: { "lameduck/v1": fingerprintOf(finding) },
    ...(suppressed
      ? {
          suppressions: [
            {
              kind: suppressed.by === "annotation" ? "inSource" : "external",
              justification: suppressed.reason,
            },
          ],
        }
      : {}),
  };
}

/** Relative to the folder in which the audit runs: that of a checkout. */
function uriOf(file: string): string {
  if (isLive(file) || file === "stdin") return encodeURI(file);
  const path = relative(process.cwd(), file);
  return path.startsWith("..") ? pathToFileURL(file).href : encodeURI(path.split(sep).join("/"));
}
