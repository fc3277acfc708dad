import { createHash } from "node:crypto";
import type { ClusterFacts } from "../injection.ts";
import { injectLabelValue, systemNamespaces } from "../skip.ts";
import { injectLabel, operatorNames } from "@lameduck/protocol";
import type { InjectionSettings } from "../policy/settings.ts";
import { literal } from "./expression.ts";
import { containerVariables, operations } from "./operations.ts";
import { podVariables } from "./pod.ts";
import { revisionVariable, settingVariables, timeVariables, type Variable } from "./settings.ts";

export interface PolicyOptions {
  /** The name of the policy and of its binding. */
  readonly name?: string;
  /** Lameduck's own namespace, which is left alone. */
  readonly ofLameduck?: string;
  /** Only these namespaces, by name: those with a DrainPolicy of their own. */
  readonly namespaces?: readonly string[];
  /** All labelled namespaces but these. */
  readonly exceptNamespaces?: readonly string[];
}

/**
 * The injection as a policy that the API server carries out itself (Kubernetes >= 1.36): nothing has to run for it. It follows the settings
 * that it was made for, and the annotations of each pod.
 * @returns a MutatingAdmissionPolicy and its MutatingAdmissionPolicyBinding.
 */
export function admissionPolicy(
  settings: InjectionSettings,
  facts: Omit<ClusterFacts, "exposedBy" | "version">,
  options: PolicyOptions = {},
): readonly [policy: Record<string, unknown>, binding: Record<string, unknown>] {
  const { name = operatorNames.webhooks.inject, ofLameduck = operatorNames.namespace } = options;
  const { namespaces, exceptNamespaces = [] } = options;
  const known: ClusterFacts = { ...facts, exposedBy: undefined, version: { major: 1, minor: 36 } };
  const key = "kubernetes.io/metadata.name";
  const apiVersion = "admissionregistration.k8s.io/v1";
  const spec = {
    failurePolicy: "Ignore",
    // A sidecar that a webhook adds is seen in a second pass.
    reinvocationPolicy: "IfNeeded",
    matchConstraints: {
      resourceRules: [
        {
          apiGroups: [""],
          apiVersions: ["v1"],
          operations: ["CREATE"],
          resources: ["pods"],
          scope: "Namespaced",
        },
      ],
      namespaceSelector: {
        matchLabels: { [injectLabel]: injectLabelValue },
        matchExpressions: [
          { key, operator: "NotIn", values: [ofLameduck, ...systemNamespaces, ...exceptNamespaces] },
          ...(namespaces === undefined ? [] : [{ key, operator: "In", values: namespaces }]),
        ],
      },
    },
    variables: [
      ...settingVariables(settings, known),
      ...podVariables(settings),
      ...timeVariables(),
      ...containerVariables(known),
    ],
    mutations: [{ patchType: "JSONPatch", jsonPatch: { expression: operations(settings, known) } }],
  };
  const revision = {
    name: revisionVariable,
    expression: literal(`${facts.lameduckVersion}-${sumOf(spec)}`),
  };
  const policy = {
    apiVersion,
    kind: "MutatingAdmissionPolicy",
    metadata: { name },
    spec: { ...spec, variables: [revision, ...spec.variables] },
  };
  const binding = {
    apiVersion,
    kind: "MutatingAdmissionPolicyBinding",
    metadata: { name },
    spec: { policyName: name },
  };
  return [policy, binding];
}

/** Twelve digits tell the revisions of one policy apart. */
const sumOf = (spec: object): string =>
  createHash("sha256").update(JSON.stringify(spec)).digest("hex").slice(0, 12);

/** What a policy of ours answers a probe with; undefined where it answers none. */
export function revisionOf(policy: unknown): string | undefined {
  const { spec } = policy as { readonly spec?: { readonly variables?: readonly Variable[] } };
  const found = spec?.variables?.find(({ name }) => name === revisionVariable);
  return found && (JSON.parse(found.expression) as string);
}
