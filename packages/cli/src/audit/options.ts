import {
  AuditError,
  factNames,
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
import { isUtf8 } from "node:buffer";
import { existsSync, readFileSync, statSync } from "node:fs";
import { badOption } from "../errors.ts";
import { fileText } from "../input.ts";
import type { ClusterOptions } from "./cluster.ts";
import type { AuditOutputs } from "./formats.ts";

export interface Options extends ClusterOptions, AuditOutputs {
  readonly config?: string;
  readonly assume: readonly string[];
  readonly image: readonly string[];
  readonly minSeverity: "error" | "warning" | "note";
  readonly baseline?: string;
  readonly allowUnknown?: boolean | undefined;
  readonly fix?: boolean;
  readonly write?: boolean;
  readonly prove?: boolean;
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

/** "1.34", "v1.34.2" or "34": the minor version. `place` is what says it. @throws {CliError} LAMEDUCK_BAD_OPTION */
export function minorFrom(text: string | undefined, place: string): number | undefined {
  if (text === undefined) return undefined;
  const [, minor] = /^(?:v?1\.)?(\d{2,3})(?:\.\d+)?(?:[-+].*)?$/.exec(text) ?? [];
  if (minor === undefined) throw badOption(`${place} ${text}`, "write a version such as 1.34");
  return Number(minor);
}

/** What `--image` names, apart: images, and what is written about images. */
interface ImagesGiven {
  readonly sources: readonly string[];
  readonly texts: readonly ImageFile[];
}

/** A Dockerfile and a configuration are text, an archive is not. @throws {CliError} LAMEDUCK_BAD_OPTION */
export function imagesGiven(given: readonly string[]): ImagesGiven {
  const sources: string[] = [];
  const texts: ImageFile[] = [];
  for (const one of given) {
    const [, image, file = one] = /^([^=./][^=]*)=(.+)$/s.exec(one) ?? [];
    const bytes = statSync(file, { throwIfNoEntry: false })?.isFile() ? readFileSync(file) : undefined;
    if (bytes && isUtf8(bytes) && !bytes.includes(0))
      texts.push({ image, file, text: bytes.toString("utf8") });
    else if (image === undefined)
      throw badOption(`--image ${one}`, "write NAME=SOURCE, or name a Dockerfile or a configuration");
    else sources.push(one);
  }
  return { sources, texts };
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
export const usualConfig = ".lameduck-audit.yaml";

/** @throws {AuditError} LAMEDUCK_AUDIT_BAD_CONFIG, LAMEDUCK_AUDIT_UNKNOWN_RULE */
export function configFrom(file: string | undefined): Config {
  const path = file ?? (existsSync(usualConfig) ? usualConfig : undefined);
  if (path === undefined) return noConfig;
  const text = fileText(path, (problem) => new AuditError("LAMEDUCK_AUDIT_BAD_CONFIG", path, problem));
  return readConfig(text, path);
}
