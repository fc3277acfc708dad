import {
  githubReport,
  htmlReport,
  jsonReport,
  junitReport,
  markdownReport,
  sarifReport,
  textReport,
  type Audit,
} from "@lameduck/audit";
import { addressOf, version, withAddresses } from "../about.ts";
import { badOption } from "../errors.ts";
import { checkOutputs, outputFiles, publish } from "../output.ts";
import type { ShownProof } from "./prove/enter.ts";

type Proofs = readonly ShownProof[] | undefined;

const formats = {
  text: (audit: Audit, proofs: Proofs, stream?: NodeJS.WriteStream) =>
    [textReport(audit, stream), ...proofTexts(proofs)].join("\n"),
  json: (audit: Audit, proofs: Proofs) =>
    jsonReport(
      audit,
      proofs?.map(({ plain }) => plain),
    ),
  junit: (audit: Audit) => junitReport(audit),
  markdown: (audit: Audit, proofs: Proofs) =>
    [markdownReport(audit), ...proofTexts(proofs).map((one) => `\`\`\`text\n${one}\`\`\`\n`)].join("\n"),
  github: (audit: Audit) => githubReport(audit),
  html: (audit: Audit) => htmlReport(audit, rulePage),
  sarif: (audit: Audit) => sarifReport(audit, version(), rulePage),
} as const;

function rulePage(id: string): string | undefined {
  return addressOf(id === "" ? "docs/tools/audit.md" : `docs/rules/${id}.md`);
}

function proofTexts(proofs: Proofs): string[] {
  if (proofs?.length === 0) return ["proof: there is no finding that a rollout could show\n"];
  return (proofs ?? []).map(({ text }) => text);
}

type Format = Exclude<keyof typeof formats, "text">;

const formatNames = [
  "json",
  "junit",
  "markdown",
  "github",
  "html",
  "sarif",
] as const satisfies readonly Format[];

/** The files that were asked for; "-" is stdout. */
export type AuditOutputs = Readonly<Partial<Record<Format, string>>>;

export const asksForFiles = (asked: AuditOutputs): boolean =>
  formatNames.some((name) => asked[name] !== undefined);

/** @throws {CliError} LAMEDUCK_BAD_OPTION, LAMEDUCK_CANNOT_WRITE */
export function checkAuditOutputs(asked: AuditOutputs): void {
  checkOutputs(outputFiles(asked, ...formatNames));
}

/** @throws {CliError} LAMEDUCK_BAD_OPTION where minutes of rolling would be for nothing. */
export function mustShowProofs(asked: AuditOutputs): void {
  const silent = formatNames.find((name) => asked[name] === "-" && name !== "json" && name !== "markdown");
  if (silent !== undefined && asked.json === undefined && asked.markdown === undefined)
    throw badOption("--prove", "shows its proofs as text, JSON or markdown: leave one of them");
}

export function publishAudit(audit: Audit, asked: AuditOutputs, proofs?: readonly ShownProof[]): void {
  const texts = (name: Format): (() => string) =>
    asked[name] === "-"
      ? () => withAddresses(formats[name](audit, proofs))
      : () => formats[name](audit, proofs);
  const all = Object.fromEntries(formatNames.map((name) => [name, texts(name)]));
  publish(
    () => withAddresses(formats.text(audit, proofs, process.stdout)),
    asked,
    all as Record<Format, () => string>,
  );
}
