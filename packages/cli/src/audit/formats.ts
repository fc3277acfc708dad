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
import { version, withAddresses } from "../about.ts";
import { badOption } from "../errors.ts";
import { checkOutputs, writeOutput } from "../output.ts";
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

function rulePage(id: string): string {
  return withAddresses(id === "" ? "docs/audit.md" : `docs/audit/${id}.md`);
}

function proofTexts(proofs: Proofs): string[] {
  if (proofs?.length === 0) return ["proof: there is no finding that a rollout could show\n"];
  return (proofs ?? []).map(({ text }) => text);
}

type Format = keyof typeof formats;

export const formatNames = Object.keys(formats) as Format[];

interface FormatOutput {
  readonly format: Format;
  /** "-": stdout. */
  readonly file: string;
}

/** "sarif=FILE"; a format alone goes to stdout. @throws {CliError} LAMEDUCK_BAD_OPTION, LAMEDUCK_CANNOT_WRITE */
export function outputsFrom(texts: readonly string[]): FormatOutput[] {
  const outputs = (texts.length === 0 ? ["text"] : texts).map((text) => {
    const [, name = "", file = "-"] = /^([a-z]+)(?:=(.+))?$/s.exec(text) ?? [];
    if (!(name in formats))
      throw badOption(`--format ${text}`, `write one of ${formatNames.join(", ")}, or FORMAT=FILE`);
    return { format: name as Format, file };
  });
  checkOutputs(outputs.map(({ format, file }) => [`--format ${format}`, file]));
  return outputs;
}

/** @throws {CliError} LAMEDUCK_BAD_OPTION where minutes of rolling would be for nothing. */
export function mustShowProofs(outputs: readonly FormatOutput[]): void {
  if (!outputs.some(({ format }) => ["text", "json", "markdown"].includes(format)))
    throw badOption("--prove", "shows its proofs as text, json or markdown: add --format");
}

export function publishAudit(
  audit: Audit,
  outputs: readonly FormatOutput[],
  proofs?: readonly ShownProof[],
): void {
  for (const { format, file } of outputs)
    writeOutput(`--format ${format}`, file, () =>
      file === "-"
        ? withAddresses(formats[format](audit, proofs, process.stdout))
        : formats[format](audit, proofs),
    );
}
