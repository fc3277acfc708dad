import { webhookDefaults, type ConfigurationOptions } from "../admission/configurations.ts";
import { declining, holdLabel, operatorNames, injectedAnnotation } from "@lameduck/protocol";
import { systemNamespaces } from "@lameduck/inject";
import { alwaysExempt } from "./settings.ts";

const listed = (values: readonly string[]): string => values.map((one) => `'${one}'`).join(", ");
const metadata = "oldObject.metadata";

/** Distinguished in the API server, so that it does not call for what would be let through at once. */
const conditions = [
  {
    name: "not-exempt",
    expression: `!(request.userInfo.username in [${listed(alwaysExempt)}]) && (!has(request.userInfo.groups) || !request.userInfo.groups.exists(g, g in [${listed(alwaysExempt)}]))`,
  },
];
const podConditions = [
  { name: "not-terminating", expression: `!has(${metadata}.deletionTimestamp)` },
  {
    name: "holds-not-itself",
    expression: `!has(${metadata}.annotations) || !('${injectedAnnotation}' in ${metadata}.annotations)`,
  },
  {
    name: "of-no-job-and-no-daemon",
    expression: `!has(${metadata}.ownerReferences) || !${metadata}.ownerReferences.exists(o, o.kind in ['Job', 'DaemonSet', 'Node'])`,
  },
  {
    name: "ready",
    expression:
      "has(oldObject.status) && has(oldObject.status.conditions) && oldObject.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
  },
];

const notOurs = ({ namespace = operatorNames.namespace }: ConfigurationOptions): object => ({
  key: "kubernetes.io/metadata.name",
  operator: "NotIn",
  values: [namespace, ...systemNamespaces],
});

const configuration = (name: string, webhooks: readonly object[]): Record<string, unknown> => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  metadata: { name },
  webhooks,
});

const rule = { apiVersions: ["v1"], scope: "Namespaced" };
const ofEvictions = {
  rules: [{ apiGroups: [""], operations: ["CREATE"], resources: ["pods/eviction"], ...rule }],
  matchConditions: conditions,
};

/** Calls the operator for every eviction: an Eviction has no labels, so that only the operator can look at those of the pod. */
export function surgeConfiguration(options: ConfigurationOptions = {}): Record<string, unknown> {
  const { surge, paths } = operatorNames;
  return configuration(surge, [
    {
      ...webhookDefaults(surge, paths.surge, options),
      sideEffects: "NoneOnDryRun",
      // No call waits, but it reads and changes a pod.
      timeoutSeconds: 10,
      namespaceSelector: { matchExpressions: [notOurs(options)] },
      ...ofEvictions,
    },
  ]);
}

/** Calls the operator for deletions and evictions in namespaces labelled lameduck.dev/held-deletions=enabled. */
export function heldDeletionsConfiguration(options: ConfigurationOptions = {}): Record<string, unknown> {
  const { webhooks, paths, heldDeletions } = operatorNames;
  const of = (name: string): Record<string, unknown> => ({
    ...webhookDefaults(name, paths.hold, options),
    // A hold changes the pod, and says so only where it is no dry run.
    sideEffects: "NoneOnDryRun",
    // The most that the API server allows; a hold ends 5 s before.
    timeoutSeconds: 30,
    namespaceSelector: {
      matchLabels: { [holdLabel]: "enabled" },
      matchExpressions: [notOurs(options)],
    },
  });
  return configuration(heldDeletions, [
    {
      ...of(webhooks.deletions),
      rules: [{ apiGroups: [""], operations: ["DELETE"], resources: ["pods"], ...rule }],
      objectSelector: { matchExpressions: [{ key: holdLabel, operator: "NotIn", values: declining }] },
      matchConditions: [...conditions, ...podConditions],
    },
    { ...of(webhooks.evictions), ...ofEvictions },
  ]);
}
