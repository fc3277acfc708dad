import { injectLabelValue, systemNamespaces } from "@lameduck/inject";
import { declining, injectLabel, operatorNames } from "@lameduck/protocol";

export interface ConfigurationOptions {
  /** The operator's own, whose pods it never injects. */
  readonly namespace?: string;
  /** A URL in place of the Service, for an operator that runs outside the cluster: "https://198.18.0.1:8443". */
  readonly url?: string;
  /** Base64 of PEM. The operator sets it by itself. */
  readonly caBundle?: string;
}

const ownedByJob =
  "has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(o, o.kind == 'Job')";
const isOptedIn = `has(object.metadata.annotations) && '${injectLabel}' in object.metadata.annotations && object.metadata.annotations['${injectLabel}'] == 'true'`;
const hasOwnAnnotation = (of: string): string =>
  `has(${of}) && has(${of}.annotations) && ${of}.annotations.exists(a, a.startsWith('lameduck.dev/'))`;

/** Nothing is blocked when the operator is down: `Ignore`, and 2 s at most for one that hangs. */
export function webhookDefaults(
  name: string,
  path: string,
  options: ConfigurationOptions,
): Record<string, unknown> {
  const { namespace = operatorNames.namespace, url, caBundle } = options;
  const { service, ports } = operatorNames;
  return {
    name,
    clientConfig: {
      ...(url === undefined
        ? { service: { namespace, name: service, path, port: ports.service } }
        : { url: `${url}${path}` }),
      ...(caBundle === undefined ? {} : { caBundle }),
    },
    admissionReviewVersions: ["v1"],
    failurePolicy: "Ignore",
    matchPolicy: "Equivalent",
    sideEffects: "None",
    timeoutSeconds: 2,
  };
}

function labelledNamespaces({ namespace = operatorNames.namespace }: ConfigurationOptions): object {
  return {
    matchLabels: { [injectLabel]: injectLabelValue },
    matchExpressions: [
      { key: "kubernetes.io/metadata.name", operator: "NotIn", values: [namespace, ...systemNamespaces] },
    ],
  };
}

/** Calls the operator for new pods of a labelled namespace. Left out are pods labelled "disabled" and pods of Jobs that do not ask for it. */
export function mutatingConfiguration(options: ConfigurationOptions = {}): Record<string, unknown> {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: operatorNames.configuration },
    webhooks: [
      {
        ...webhookDefaults(operatorNames.webhooks.inject, operatorNames.paths.mutate, options),
        rules: [
          {
            apiGroups: [""],
            apiVersions: ["v1"],
            operations: ["CREATE"],
            resources: ["pods"],
            scope: "Namespaced",
          },
        ],
        // A sidecar that another webhook adds after us is seen in a second pass.
        reinvocationPolicy: "IfNeeded",
        namespaceSelector: labelledNamespaces(options),
        objectSelector: {
          matchExpressions: [{ key: injectLabel, operator: "NotIn", values: declining }],
        },
        matchConditions: [{ name: "not-of-a-job", expression: `!(${ownedByJob}) || (${isOptedIn})` }],
      },
    ],
  };
}

/** Has the operator judge DrainPolicies, and workloads that carry annotations of ours. */
export function validatingConfiguration(options: ConfigurationOptions = {}): Record<string, unknown> {
  const operations = ["CREATE", "UPDATE"];
  const { webhooks, paths } = operatorNames;
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: operatorNames.configuration },
    webhooks: [
      {
        ...webhookDefaults(webhooks.policies, paths.validate, options),
        rules: [
          {
            apiGroups: ["lameduck.dev"],
            apiVersions: ["*"],
            operations,
            resources: ["drainpolicies"],
            scope: "Namespaced",
          },
        ],
      },
      {
        ...webhookDefaults(webhooks.workloads, paths.validate, options),
        rules: [
          {
            apiGroups: ["apps"],
            apiVersions: ["v1"],
            operations,
            resources: ["deployments", "statefulsets", "daemonsets"],
            scope: "Namespaced",
          },
        ],
        namespaceSelector: labelledNamespaces(options),
        matchConditions: [
          {
            name: "annotated",
            expression: `(${hasOwnAnnotation("object.metadata")}) || (${hasOwnAnnotation("object.spec.template.metadata")})`,
          },
        ],
      },
    ],
  };
}
