import type { LabelSelector } from "@lameduck/kube/objects";
import type { Field } from "@lameduck/manifests";

/** @throws {ManifestError} where an expression lacks its key or operator. */
export function selectorOf(field: Field): LabelSelector {
  const matchExpressions = field
    .at("matchExpressions")
    .items()
    .map((one) => ({
      key: one.at("key").mustText(),
      operator: one.at("operator").mustText(),
      values: one.at("values").texts(),
    }));
  return { matchLabels: field.at("matchLabels").textMap(), matchExpressions };
}
