import {
  AuditError,
  factNames,
  imagesOf,
  ruleNamed,
  severities,
  type FactName,
  type Facts,
  type ImageFile,
  type Rule,
  type Severity,
  noConfig,
  readConfig,
  type Config,
} from "@lameduck/audit";
import { parseDuration } from "@lameduck/drain/duration";
import { existsSync } from "node:fs";
import { badOption } from "../errors.ts";
import { fileText } from "../input.ts";
import type { ClusterOptions } from "./cluster.ts";

export interface Options extends ClusterOptions {
  readonly cluster?: boolean;
  readonly config?: string;
  readonly format: readonly string[];
  readonly assume: readonly string[];
  readonly dockerfile: readonly string[];
  readonly imageConfig: readonly string[];
  readonly kubernetes?: string;
  readonly minSeverity: "error" | "warning" | "note";
  readonly baseline?: string;
  readonly writeBaseline?: boolean;
  readonly allowUnknown?: boolean | undefined;
  readonly fix?: boolean;
  readonly write?: boolean;
  readonly prove?: boolean;
  readonly rules?: boolean;
  readonly rule: readonly string[];
}

/** `--assume drain=20s` @throws coded errors that name the option */
export function factsFrom(assumed: readonly string[]): Facts {
  const facts: { -readonly [Name in keyof Facts]: Facts[Name] } = {};
  for (const text of assumed) {
    const [, name = "", value = ""] = /^([\w-]+)=(.*)$/s.exec(text) ?? [];
    if (!(name in factNames))
      throw badOption(
        `--assume ${text}`,
        `write NAME=DURATION, where NAME is one of ${Object.keys(factNames).join(", ")}`,
      );
    facts[name as FactName] = {
      name,
      value: parseDuration(value, `--assume ${name}`) / 1_000,
      origin: { kind: "flag", path: `--assume ${text}` },
    };
  }
  return facts;
}

/** "1.34", "v1.34.2" or "34": the minor version. @throws {CliError} LAMEDUCK_BAD_OPTION */
export function minorFrom(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, minor] = /^(?:v?1\.)?(\d{2,3})(?:\.\d+)?(?:[-+].*)?$/.exec(text) ?? [];
  if (minor === undefined) throw badOption(`--kubernetes ${text}`, "write a version such as 1.34");
  return Number(minor);
}

export function imagesFrom({ dockerfile, imageConfig }: Options): ReturnType<typeof imagesOf> {
  return imagesOf([...dockerfile, ...imageConfig].map((text) => imageFile(text)));
}

/** "FILE" or "IMAGE=FILE" */
function imageFile(given: string): ImageFile {
  const [, image, file = given] = /^([^=]+)=(.+)$/s.exec(given) ?? [];
  const text = fileText(file, (problem) => new AuditError("LAMEDUCK_AUDIT_BAD_IMAGE", file, problem));
  return { image, file, text };
}

/** Whether a finding is as severe as asked for. What is unknown is shown always: it is no pass. */
export function isShown(severity: Severity, least: "error" | "warning" | "note"): boolean {
  return (
    severity === "unknown" ||
    severities.indexOf(severity) <= severities.indexOf(least === "note" ? "info" : least)
  );
}

/** @throws {AuditError} LAMEDUCK_AUDIT_UNKNOWN_RULE */
export function rulesFrom(names: readonly string[]): readonly Rule[] | undefined {
  if (names.length === 0) return undefined;
  return names.map((name) => {
    const rule = ruleNamed(name);
    if (rule === undefined)
      throw new AuditError("LAMEDUCK_AUDIT_UNKNOWN_RULE", `--rule ${name}`, "there is no such rule");
    return rule;
  });
}

/** Read without being asked for where it stands in the working folder. */
const usual = ".lameduck-audit.yaml";

/** @throws {AuditError} LAMEDUCK_AUDIT_BAD_CONFIG, LAMEDUCK_AUDIT_UNKNOWN_RULE */
export function configFrom(file: string | undefined): Config {
  const path = file ?? (existsSync(usual) ? usual : undefined);
  if (path === undefined) return noConfig;
  const text = fileText(path, (problem) => new AuditError("LAMEDUCK_AUDIT_BAD_CONFIG", path, problem));
  return readConfig(text, path);
}
