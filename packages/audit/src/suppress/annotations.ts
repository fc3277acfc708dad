import { nearest } from "@lameduck/drain/spelling";
import type { Field } from "@lameduck/manifests";
import { AuditError } from "../errors.ts";
import { factNames, prefix } from "../facts/facts.ts";
import type { Workload } from "../model/workload.ts";
import { ruleNamed } from "../rules/index.ts";

const ignore = "ignore-";
const names = [...Object.keys(factNames), "serves", "connections"];

/** Annotations without effect: an unknown rule, a misspelt name, an invalid value. */
export function wrongAnnotations({ template, object }: Workload): AuditError[] {
  return [template, object.field].flatMap((one) => {
    const all = one.at("metadata").at("annotations");
    if (!all.mapping) return [];
    return all
      .entries()
      .filter(([key]) => key.startsWith(prefix))
      .flatMap(([key, field]) => wrong(key.slice(prefix.length), field) ?? []);
  });
}

function wrong(name: string, field: Field): AuditError | undefined {
  const key = prefix + name;
  if (name.startsWith(ignore))
    return ruleNamed(name.slice(ignore.length)) === undefined
      ? new AuditError("LAMEDUCK_AUDIT_UNKNOWN_RULE", field.place, `${key}: there is no such rule`)
      : undefined;
  const bad = (problem: string): AuditError =>
    new AuditError("LAMEDUCK_AUDIT_BAD_ANNOTATION", field.place, `${key}: ${problem}`);
  if (name === "serves" && !["true", "false"].includes(String(field.plain())))
    return bad('must be "true" or "false"');
  // Other annotations are the operator's, and checked there.
  const meant = names.includes(name) ? undefined : nearest(name, names);
  return meant === undefined ? undefined : bad(`is unknown; did you mean ${prefix}${meant}?`);
}
