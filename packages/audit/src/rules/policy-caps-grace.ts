import { compare } from "../facts/arithmetic.ts";
import { fromField, seconds, type Amount } from "../model/amount.ts";
import { askedOnce } from "../model/asked-once.ts";
import type { KubeObject } from "../model/object.ts";
import type { Field } from "@lameduck/manifests";
import type { Rule } from "../rule.ts";

export const policyCapsGrace: Rule = {
  id: "policy-caps-grace",
  title: "A policy of the cluster shortens the grace period",
  meaning: `Policies of Kyverno and Gatekeeper can set \`terminationGracePeriodSeconds\` when a pod is created. A well-known one of the Kyverno
library caps it at 50 s, so that drains end. The pod then has another grace period than its manifest says. SIGKILL cuts what no longer fits, and the
API server refuses the pod if its preStop sleep is longer than the cap.`,
  remedy: "Exclude the workload from the policy, or make hold and drain fit into the time that it leaves",
  references: [
    "https://kyverno.io/policies/other/mutate-termination-grace-period-seconds/mutate-termination-grace-period-seconds/",
  ],
  *check({ grace, pod, object }, { inventory }) {
    for (const policy of policiesIn(inventory.objects)) {
      const cap = capOf(policy);
      if (cap === undefined || grace.value <= cap.value || !reaches(policy, object.namespace)) continue;
      const at = pod.at("terminationGracePeriodSeconds");
      yield {
        severity: "warning",
        message: `${policy.kind} ${policy.name} sets the grace period to ${seconds(cap.value)} s where it is ${seconds(grace.value)} s`,
        at: at.exists ? at : object.field.at("metadata").at("name"),
        arithmetic: compare([grace], ">", cap),
      };
    }
  },
};

const policiesIn = askedOnce((objects: readonly KubeObject[]) =>
  objects.filter((one) => isOfKyverno(one) || one.type === "mutations.gatekeeper.sh/Assign"),
);

function isOfKyverno({ type }: KubeObject): boolean {
  return type.startsWith("kyverno.io/");
}

function capOf(policy: KubeObject): Amount | undefined {
  const { kind, name, field } = policy;
  if (isOfKyverno(policy)) {
    for (const rule of field.at("spec").at("rules").items()) {
      const spec = rule.at("mutate").at("patchStrategicMerge").at("spec");
      const own = numberIn(spec);
      if (own) return fromField(`${kind} ${name}`, own.value, own.field);
    }
  } else if (field.at("spec").at("location").text() === "spec.terminationGracePeriodSeconds") {
    const value = field.at("spec").at("parameters").at("assign").at("value");
    const number = value.plain();
    return typeof number === "number" ? fromField(`${kind} ${name}`, number, value) : undefined;
  }
  return undefined;
}

/** By namespace, where the policy names some: Kyverno's `match` and `exclude` of each rule, Gatekeeper's `match`. */
function reaches(policy: KubeObject, namespace: string): boolean {
  const { kind, namespace: own, field } = policy;
  if (kind === "Policy" && own !== namespace) return false;
  const spec = field.at("spec");
  const isNamed = (names: Field): boolean => names.texts().some((name) => isMatch(name, namespace));
  if (!isOfKyverno(policy)) {
    const match = spec.at("match");
    const wanted = match.at("namespaces");
    return !isNamed(match.at("excludedNamespaces")) && (!wanted.exists || isNamed(wanted));
  }
  const filters = (which: Field): Field[] =>
    [which, ...which.at("any").items(), ...which.at("all").items()].map((one) =>
      one.at("resources").at("namespaces"),
    );
  return spec
    .at("rules")
    .items()
    .some((rule) => {
      const wanted = filters(rule.at("match")).filter(({ exists }) => exists);
      return (wanted.length === 0 || wanted.some(isNamed)) && !filters(rule.at("exclude")).some(isNamed);
    });
}

/** Both know `*` and `?`. */
function isMatch(pattern: string, name: string): boolean {
  const literal = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^${literal.replaceAll("*", ".*").replaceAll("?", ".")}$`).test(name);
}

/** Kyverno's anchors `+( )`, `=( )` and `<( )` stand around keys. */
function numberIn(spec: Field): { readonly value: number; readonly field: Field } | undefined {
  if (!spec.exists) return undefined;
  for (const [key, field] of spec.entries()) {
    // `+(key)` adds only what is missing.
    if (!/^(?:=\()?terminationGracePeriodSeconds\)?$/.test(key)) continue;
    const value = field.plain();
    if (typeof value === "number") return { value, field };
  }
  return undefined;
}
