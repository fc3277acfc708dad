import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { admissionPolicy, defaultSettings, settingsFor, revisionOf } from "../src/index.ts";

interface Policy {
  readonly spec: {
    readonly failurePolicy: string;
    readonly matchConstraints: {
      readonly resourceRules: readonly { readonly operations: readonly string[] }[];
      readonly namespaceSelector: {
        readonly matchLabels: Readonly<Record<string, string>>;
        readonly matchExpressions: readonly {
          readonly operator: string;
          readonly values: readonly string[];
        }[];
      };
    };
    readonly variables: readonly { readonly name: string; readonly expression: string }[];
    readonly mutations: readonly { readonly jsonPatch: { readonly expression: string } }[];
  };
}

const facts = { lameduckVersion: "0.1.0", convergenceSeconds: undefined, architectures: undefined };
const made = (
  options?: Parameters<typeof admissionPolicy>[2],
): { policy: Policy; binding: Record<string, unknown> } => {
  const [policy, binding] = admissionPolicy(defaultSettings, facts, options);
  return { policy: policy as unknown as Policy, binding };
};

/** What the API server makes of it is tested there: e2e/test/inject.test.ts. */
describe("the MutatingAdmissionPolicy", () => {
  it("the MutatingAdmissionPolicy fails open, and sees only CREATE in labelled namespaces that are not the system's or ours", () => {
    const { policy, binding } = made({ name: "inject.example", ofLameduck: "our-own" });
    const { failurePolicy, matchConstraints } = policy.spec;
    assert.equal(failurePolicy, "Ignore");
    assert.deepEqual(
      matchConstraints.resourceRules.map(({ operations }) => operations),
      [["CREATE"]],
    );
    const { matchLabels, matchExpressions } = matchConstraints.namespaceSelector;
    assert.deepEqual(matchLabels, { "lameduck.dev/inject": "enabled" });
    assert.deepEqual(matchExpressions[0]?.values.slice(0, 2), ["our-own", "kube-system"]);
    assert.deepEqual(binding["spec"], { policyName: "inject.example" });
  });

  it("a MutatingAdmissionPolicy can be one of several: for namespaces with settings of their own, and for all the others", () => {
    const selects = (options: Parameters<typeof admissionPolicy>[2]): unknown =>
      made(options).policy.spec.matchConstraints.namespaceSelector.matchExpressions.map(
        ({ operator, values }) => [operator, values.includes("shop")],
      );
    assert.deepEqual(selects({ namespaces: ["shop"] }), [
      ["NotIn", false],
      ["In", true],
    ]);
    assert.deepEqual(selects({ exceptNamespaces: ["shop"] }), [["NotIn", true]]);
  });

  it("the MutatingAdmissionPolicy keeps a floor above another policy's cap, because a pod's annotation may raise the cap", () => {
    const policy = (spec: object): object => ({ apiVersion: "lameduck.dev/v1alpha1", spec });
    const { settings } = settingsFor({
      namespacePolicy: policy({ floorSeconds: 60 }),
      clusterPolicy: policy({ capSeconds: 40 }),
    });
    const [made] = admissionPolicy(settings, facts) as unknown as [Policy];
    const asked = made.spec.variables.find(({ name }) => name === "floorAsked");
    assert.match(asked?.expression ?? "", /: 60$/);
  });

  it("the MutatingAdmissionPolicy tells the periods of probes by which the kubelet sends something", () => {
    const { variables } = made().policy.spec;
    const periods = variables.find(({ name }) => name === "probePeriods");
    assert.equal(
      periods?.expression,
      "object.spec.containers.map(c, [c.?readinessProbe, c.?livenessProbe, c.?startupProbe]" +
        ".filter(p, p.?httpGet.hasValue() || p.?grpc.hasValue()).map(p, p.?periodSeconds.orValue(10))" +
        '.filter(s, s >= 1 && s <= 3600).map(s, string(s) + "s").join(","))',
    );
  });

  it("the MutatingAdmissionPolicy tells pods of the coordinator where there is one", () => {
    const coordinator = { address: "http://coordinator:8070", mode: "availability" } as const;
    const [policy] = admissionPolicy(defaultSettings, { ...facts, coordinator }) as unknown as [Policy];
    const [mutation] = policy.spec.mutations;
    for (const text of ["http://coordinator:8070", "LAMEDUCK_POD_UID", "metadata.uid"])
      assert.ok(mutation?.jsonPatch.expression.includes(`"${text}"`), text);
    const [without] = made().policy.spec.mutations;
    assert.ok(!without?.jsonPatch.expression.includes("LAMEDUCK_COORDINATOR"));
  });

  it("the MutatingAdmissionPolicy answers a probe with its revision, which another setting, version or namespace changes", () => {
    const { policy } = made();
    const revision = revisionOf(policy);
    assert.match(revision ?? "", /^0\.1\.0-[0-9a-f]{12}$/);
    assert.equal(revisionOf(made().policy), revision);
    assert.match(
      policy.spec.mutations[0]?.jsonPatch.expression ?? "",
      /"lameduck\.dev\/probe".* == "policy" \? \[JSONPatch\{.*value: variables\.revision\}\]/,
    );
    const others = [
      admissionPolicy({ ...defaultSettings, capSeconds: 40 }, facts)[0],
      admissionPolicy(defaultSettings, { ...facts, lameduckVersion: "0.2.0" })[0],
      admissionPolicy(defaultSettings, facts, { exceptNamespaces: ["shop"] })[0],
    ].map(revisionOf);
    assert.equal(new Set([revision, ...others]).size, 4);
    assert.equal(revisionOf({ spec: { variables: [] } }), undefined);
  });

  it("the MutatingAdmissionPolicy uses a variable only after it has been named, and names no variable in vain", () => {
    const { variables, mutations } = made().policy.spec;
    const known = new Set<string>();
    const used = new Set<string>();
    const check = (expression: string, by: string): void => {
      for (const [, name = ""] of expression.matchAll(/\bvariables\.(\w+)/g)) {
        assert.ok(known.has(name), `${by} uses ${name}`);
        used.add(name);
      }
    };
    for (const { name, expression } of variables) {
      check(expression, name);
      assert.ok(!known.has(name), name);
      known.add(name);
    }
    for (const { jsonPatch } of mutations) check(jsonPatch.expression, "the mutation");
    assert.deepEqual(
      variables.map(({ name }) => name).filter((name) => !used.has(name)),
      [],
    );
  });
});
