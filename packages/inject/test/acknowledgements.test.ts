import assert from "node:assert/strict";
import test from "node:test";
import { acknowledgementFields, defaultAcknowledgements } from "../src/policy/acknowledgements.ts";
import { acknowledgementsFor, drainPolicyCrd, validatePolicy } from "../src/index.ts";
import { readValue } from "../src/policy/read.ts";

const acknowledgementNames = Object.keys(acknowledgementFields) as (keyof typeof acknowledgementFields)[];

const policy = (acknowledgements: unknown): object => ({
  apiVersion: "lameduck.dev/v1alpha1",
  kind: "DrainPolicy",
  metadata: { name: "default" },
  spec: { acknowledgements },
});

test("the acknowledgements of the namespace's policy win over those of the cluster's, field by field, and wrong fields are left out", () => {
  assert.deepEqual(acknowledgementsFor({}), defaultAcknowledgements);
  const settings = acknowledgementsFor({
    clusterPolicy: policy({ mode: "consistency", quorum: "90%", silentAfterSeconds: 20 }),
    namespacePolicy: policy({ mode: "availability", silentAfterSeconds: "soon" }),
  });
  assert.deepEqual(settings, {
    ...defaultAcknowledgements,
    mode: "availability",
    quorum: "90%",
    silentAfterSeconds: 20,
  });
  for (const broken of [null, 7, "x", [], { spec: 3 }, policy([]), policy(null)])
    assert.deepEqual(acknowledgementsFor({ namespacePolicy: broken }), defaultAcknowledgements);
});

test("each wrong field of acknowledgements is told with its remedy", () => {
  const problems = validatePolicy(
    policy({ mode: "fast", quorum: "0%", silentAfterSeconds: 1, modus: 1, external: "cdn" }),
  );
  assert.deepEqual(
    problems.map(({ field }) => field),
    ["mode", "quorum", "silentAfterSeconds", "external", "modus"].map(
      (name) => `spec.acknowledgements.${name}`,
    ),
  );
  assert.deepEqual(
    validatePolicy(policy("on")).map(({ field }) => field),
    ["spec.acknowledgements"],
  );
  const good = { mode: "consistency", consumers: "seen", quorum: "100%", external: "http/cdn, aws/shop" };
  assert.deepEqual(validatePolicy(policy(good)), []);
});

test("the CustomResourceDefinition has the same fields of acknowledgements, and their defaults are allowed values", () => {
  const [version] = drainPolicyCrd.spec.versions;
  const { properties } = version.schema.openAPIV3Schema as {
    properties: { spec: { properties: { acknowledgements: { properties: object } } } };
  };
  assert.deepEqual(Object.keys(properties.spec.properties.acknowledgements.properties), acknowledgementNames);
  for (const name of acknowledgementNames) {
    const value = defaultAcknowledgements[name];
    if (value !== undefined) assert.deepEqual(readValue(acknowledgementFields[name], value), { value });
  }
});
