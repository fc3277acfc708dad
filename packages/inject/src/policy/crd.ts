import { acknowledgementFields } from "./acknowledgements.ts";
import { ascending, settingFields, settingNames, type SettingField } from "./fields.ts";
import { policyName } from "./validate.ts";

/** The group and version of every kind that Lameduck defines. */
export const apiGroup = "lameduck.dev";
export const apiVersion = "v1alpha1";

/** As metav1.Condition. */
const conditionSchema = {
  type: "object",
  required: ["type", "status", "lastTransitionTime", "reason", "message"],
  properties: {
    type: { type: "string", maxLength: 316 },
    status: { type: "string", enum: ["True", "False", "Unknown"] },
    observedGeneration: { type: "integer", format: "int64", minimum: 0 },
    lastTransitionTime: { type: "string", format: "date-time" },
    reason: {
      type: "string",
      maxLength: 1024,
      minLength: 1,
      pattern: "^[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
    },
    message: { type: "string", maxLength: 32_768 },
  },
};

/** The CustomResourceDefinition of DrainPolicy: the API server refuses what this version would not understand. */
export const drainPolicyCrd = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `drainpolicies.${apiGroup}` },
  spec: {
    group: apiGroup,
    scope: "Namespaced",
    names: {
      kind: "DrainPolicy",
      listKind: "DrainPolicyList",
      plural: "drainpolicies",
      singular: "drainpolicy",
      shortNames: ["drain"],
      categories: ["lameduck"],
    },
    versions: [
      {
        name: apiVersion,
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: [
          column("Inject", "boolean", ".spec.inject"),
          column("InitVolume", "string", ".spec.initVolume"),
          column("Cap", "integer", ".spec.capSeconds"),
          column("Grace", "integer", ".spec.gracePeriodSeconds"),
          column("Accepted", "string", '.status.conditions[?(@.type=="Accepted")].status'),
          column("Loses", "string", '.status.conditions[?(@.type=="LosesRequests")].status'),
          column("Age", "date", ".metadata.creationTimestamp"),
        ],
        schema: { openAPIV3Schema: schema() },
      },
    ],
  },
} as const;

/** What kubectl shows of each object. */
export function column(name: string, type: string, jsonPath: string): object {
  return { name, type, jsonPath };
}

function schema(): object {
  const fields = settingNames.filter((name) => settingFields[name].inPolicy);
  return {
    type: "object",
    description:
      "How pods of a namespace are held at their termination. docs/operate/inject.md describes each field.",
    "x-kubernetes-validations": [
      {
        rule: `self.metadata.name == '${policyName}'`,
        message: `metadata.name: a namespace has one DrainPolicy; call it ${policyName}`,
      },
    ],
    properties: {
      spec: {
        type: "object",
        properties: {
          ...Object.fromEntries(fields.map((name) => [name, propertyOf(settingFields[name])])),
          acknowledgements: {
            type: "object",
            description:
              "When the cluster says that all senders have stopped sending to a pod. docs/operate/acknowledgements.md describes each field.",
            properties: Object.fromEntries(
              Object.entries(acknowledgementFields).map(([name, field]) => [name, propertyOf(field)]),
            ),
          },
        },
        "x-kubernetes-validations": [
          ...ascending.map(([lesser, greater]) => notAbove(lesser, greater)),
          {
            rule: "!has(self.initVolume) || !(self.initVolume in ['image-volume', 'init-container']) || has(self.initImage)",
            message:
              "spec.initImage is missing: this init volume takes lameduck-init from an image; name it with its tag",
          },
        ],
      },
      status: {
        type: "object",
        properties: {
          observedGeneration: { type: "integer", format: "int64" },
          conditions: {
            type: "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
            items: conditionSchema,
          },
        },
      },
    },
  };
}

function notAbove(lesser: string, greater: string): object {
  return {
    rule: `!has(self.${lesser}) || !has(self.${greater}) || self.${lesser} <= self.${greater}`,
    message: `spec.${lesser} is more than spec.${greater}: lower the one or raise the other`,
  };
}

function propertyOf(field: SettingField): object {
  const description = field.does;
  switch (field.kind) {
    case "switch":
      return { type: "boolean", description };
    case "seconds":
      return { type: "integer", format: "int64", minimum: field.least, maximum: field.most, description };
    case "choice":
      return { type: "string", enum: field.choices, description };
    case "text":
      return { type: "string", maxLength: field.longest, pattern: field.pattern.source, description };
  }
}
