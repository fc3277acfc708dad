import { ManifestError, readDocuments, type Field } from "@lameduck/manifests";
import { AuditError } from "../errors.ts";
import { factNames, type FactName, type Facts } from "../facts/facts.ts";
import { severities, type Severity } from "../finding.ts";
import { durationOf } from "../model/amount.ts";
import { ruleNamed } from "../rules/index.ts";
import type { Ignored } from "./suppress.ts";

/** What a team writes down once for all its manifests: `.lameduck-audit.yaml`. */
export interface Config {
  readonly assume: Facts;
  readonly kubernetes: string | undefined;
  readonly ignored: readonly Ignored[];
  /** Another severity than the rule's own. */
  readonly severities: ReadonlyMap<string, Severity>;
  /** Files and folders that are not read. */
  readonly exclude: readonly string[];
}

export const noConfig: Config = {
  assume: {},
  kubernetes: undefined,
  ignored: [],
  severities: new Map(),
  exclude: [],
};

/** @throws {AuditError} LAMEDUCK_AUDIT_BAD_CONFIG, LAMEDUCK_AUDIT_UNKNOWN_RULE, each with line and column. */
export function readConfig(text: string, file: string): Config {
  if (text.replaceAll(/^\s*#.*$/gm, "").trim() === "") return noConfig;
  try {
    return configOf(onlyDocument(text, file));
  } catch (error) {
    if (error instanceof ManifestError)
      throw new AuditError("LAMEDUCK_AUDIT_BAD_CONFIG", error.place, withoutPlace(error));
    throw error;
  }
}

function onlyDocument(text: string, file: string): Field {
  const { objects } = readDocuments(text, file);
  const [config, second] = objects;
  if (second) fail(second, "there may be one document only");
  return config!;
}

function configOf(config: Field): Config {
  known(config, ["assume", "kubernetes", "rules", "ignore", "exclude"]);
  const rules = config
    .at("rules")
    .entries()
    .map(([name, field]) => ruleOf(name, field));
  const ignored = config
    .at("ignore")
    .items()
    .map((one) => ignoredOf(one));
  return {
    assume: Object.fromEntries(
      config
        .at("assume")
        .entries()
        .map(([name, field]) => assumedOf(name, field)),
    ),
    kubernetes: versionOf(config.at("kubernetes")),
    ignored: [...ignored, ...rules.flatMap(({ off }) => off ?? [])],
    severities: new Map(rules.flatMap(({ name, severity }) => (severity ? [[name, severity] as const] : []))),
    exclude: config.at("exclude").texts(),
  };
}

/** `1.30` without quotes is the number 1.3 to YAML. */
function versionOf(field: Field): string | undefined {
  const value = field.numberOrText();
  if (typeof value === "number") return fail(field, `must be a text, in quotes: "1.30"`);
  return value;
}

function assumedOf(name: string, field: Field): readonly [FactName, Facts[FactName]] {
  if (!(name in factNames)) fail(field, `is none of ${Object.keys(factNames).join(", ")}`);
  const value = durationOf(field.mustText());
  if (value === undefined) return fail(field, "must be a duration with its unit, such as 20s");
  return [name as FactName, { name, value, origin: { kind: "field", path: field.path, place: field.place } }];
}

interface RuleSetting {
  readonly name: string;
  readonly severity?: Severity;
  readonly off?: Ignored;
}

function ruleOf(name: string, field: Field): RuleSetting {
  mustBeRule(name, field);
  known(field, ["severity", "reason"]);
  const reason = reasonOf(field);
  const severity = field.at("severity").mustText();
  if (severity === "off") return { name, off: { rule: name, reason } };
  const found = severities.find((one) => one === (severity === "note" ? "info" : severity));
  if (found === undefined) return fail(field.at("severity"), "must be off, error, warning or note");
  return { name, severity: found };
}

function ignoredOf(field: Field): Ignored {
  known(field, ["rule", "workload", "reason"]);
  const rule = field.at("rule").mustText();
  mustBeRule(rule, field.at("rule"));
  return { rule, workload: field.at("workload").text(), reason: reasonOf(field) };
}

function reasonOf(field: Field): string {
  const reason = field.at("reason").text()?.trim() ?? "";
  return reason === "" ? fail(field, "needs a reason") : reason;
}

function mustBeRule(name: string, field: Field): void {
  if (ruleNamed(name) === undefined)
    throw new AuditError("LAMEDUCK_AUDIT_UNKNOWN_RULE", field.place, `there is no rule "${name}"`);
}

function known(field: Field, keys: readonly string[]): void {
  for (const [key, one] of field.entries())
    if (!keys.includes(key)) fail(one, `is none of ${keys.join(", ")}`);
}

function fail(field: Field, problem: string): never {
  throw new AuditError("LAMEDUCK_AUDIT_BAD_CONFIG", field.place, `${field.path}: ${problem}`);
}

function withoutPlace({ place, message }: ManifestError): string {
  return message.startsWith(`${place}: `) ? message.slice(place.length + 2) : message;
}
