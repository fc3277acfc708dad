import { printable } from "@lameduck/drain/common";
import type { Audit } from "../audit.ts";
import type { Severity } from "../finding.ts";
import { regionOf } from "./excerpt.ts";
import { isLive, sentenceOf } from "./sentence.ts";
import { totals } from "./totals.ts";

const commands = {
  error: "error",
  warning: "warning",
  info: "notice",
  unknown: "notice",
} as const satisfies Record<Severity, string>;

/** Commands of GitHub Actions: each finding stands at its line in the change. */
export function githubReport(audit: Audit): string {
  const texts = new Map(audit.files.map(({ name, text }) => [name, text]));
  const lines = audit.findings.map((finding) => {
    const { file, line, column, endColumn } = regionOf(finding.at, (name) => texts.get(name) ?? "");
    const place = isLive(file) ? {} : { file, line, col: column, endColumn };
    const properties = {
      ...place,
      title: `${finding.rule}${finding.severity === "unknown" ? " (unknown)" : ""}`,
    };
    return command(commands[finding.severity], properties, sentenceOf(finding));
  });
  const failures = audit.failures.map(({ code, message, place }) =>
    command("error", { ...whereOf(place), title: code }, message),
  );
  return `${[...lines, ...failures, totals(audit)].map(printable).join("\n")}\n`;
}

/** "web.yaml:3:5" */
function whereOf(place: string): Readonly<Record<string, string>> {
  const [, file, line, col] = /^(.+):(\d+):(\d+)$/.exec(place) ?? [];
  return file === undefined || line === undefined || col === undefined ? {} : { file, line, col };
}

function command(
  name: string,
  properties: Readonly<Record<string, string | number>>,
  message: string,
): string {
  const written = Object.entries(properties).map(
    ([key, value]) => `${key}=${escaped(String(value), /[%\r\n:,]/g)}`,
  );
  return `::${name} ${written.join(",")}::${escaped(message, /[%\r\n]/g)}`;
}

function escaped(text: string, characters: RegExp): string {
  return text.replaceAll(
    characters,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
  );
}
