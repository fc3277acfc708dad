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

/** Calls the operator for deletions and evictions in namespaces labelled lameduck.dev/held-deletions=enabled. */
export function heldDeletionsConfiguration(options: ConfigurationOptions = {}): Record<string, unknown> {
  const { namespace = operatorNames.namespace } = options;
  const { webhooks, paths, heldDeletions } = operatorNames;
  const of = (name: string): Record<string, unknown> => ({
    ...webhookDefaults(name, paths.hold, options),
    // A hold changes the pod, and says so only where it is no dry run.
    sideEffects: "NoneOnDryRun",
    // The most that the API server allows; a hold ends 5 s before.
    timeoutSeconds: 30,
    namespaceSelector: {
      matchLabels: { [holdLabel]: "enabled" },
      matchExpressions: [
        { key: "kubernetes.io/metadata.name", operator: "NotIn", values: [namespace, ...systemNamespaces] },
      ],
    },
  });
  const rule = { apiVersions: ["v1"], scope: "Namespaced" };
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: heldDeletions },
    webhooks: [
      {
        ...of(webhooks.deletions),
        rules: [{ apiGroups: [""], operations: ["DELETE"], resources: ["pods"], ...rule }],
        objectSelector: { matchExpressions: [{ key: holdLabel, operator: "NotIn", values: declining }] },
        matchConditions: [...conditions, ...podConditions],
      },
      {
        ...of(webhooks.evictions),
        rules: [{ apiGroups: [""], operations: ["CREATE"], resources: ["pods/eviction"], ...rule }],
        matchConditions: conditions,
      },
    ],
  };
}
