import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { audit, jsonReport, textReport, type Audit } from "../src/index.ts";
import { options } from "./options.ts";

const of = (text: string, name = "all.yaml", isFound = false): Audit =>
  audit([{ name, text, isFound }], options);

const pod = "{ containers: [{ name: web, image: web, ports: [{ containerPort: 80 }] }] }";
const template = `template: { metadata: { labels: { app: web } }, spec: ${pod} }`;
const owned = (apiVersion: string, kind: string, owner: string, spec = template): string =>
  `{ apiVersion: ${apiVersion}, kind: ${kind}, metadata: { name: web, ownerReferences: [{ apiVersion: x/v1, kind: ${owner}, name: shop, uid: u }] }, spec: { ${spec} } }`;

describe("what an owner made", () => {
  for (const [what, text, workloads, skipped, unread] of [
    ["a Deployment of an operator's resource is audited", owned("apps/v1", "Deployment", "Storefront"), 1],
    ["a Pod of an operator's resource is audited", owned("v1", "Pod", "StrimziPodSet", pod.slice(1, -1)), 1],
    [
      "a ReplicaSet whose Deployment is there is described by that",
      `${owned("apps/v1", "ReplicaSet", "Deployment")}\n---\n{ apiVersion: apps/v1, kind: Deployment, metadata: { name: shop }, spec: { ${template} } }`,
      1,
    ],
    [
      "a ReplicaSet whose Deployment is elsewhere is counted",
      owned("apps/v1", "ReplicaSet", "Deployment"),
      0,
      {},
      { "ReplicaSet of a Deployment": 1 },
    ],
    [
      "a Pod of a Job takes no requests",
      owned("v1", "Pod", "Job", pod.slice(1, -1)),
      0,
      { "Pod of a Job": 1 },
    ],
    [
      "a static Pod cannot be changed here",
      owned("v1", "Pod", "Node", pod.slice(1, -1)),
      0,
      {},
      { "Pod of a Node": 1 },
    ],
  ] as const)
    test(what, () => {
      const { inventory, failures } = of(text);
      assert.deepEqual(failures, []);
      assert.equal(inventory.workloads.length, workloads);
      assert.deepEqual(Object.fromEntries(inventory.skipped), skipped ?? {});
      assert.deepEqual(Object.fromEntries(inventory.unread), unread ?? {});
    });
});

describe("kinds that nobody reads", () => {
  const kind = (apiVersion: string, name: string, spec: string): string =>
    `apiVersion: ${apiVersion}\nkind: ${name}\nmetadata: { name: web }\nspec: { ${spec} }\n`;
  for (const [text, unread] of [
    [kind("apps.kruise.io/v1alpha1", "CloneSet", template), "CloneSet"],
    [kind("apps.openshift.io/v1", "DeploymentConfig", template), "DeploymentConfig"],
    [kind("serving.knative.dev/v1", "Service", template), "serving.knative.dev/v1 Service"],
    [kind("apps.kruise.io/v1beta1", "StatefulSet", template), "apps.kruise.io/v1beta1 StatefulSet"],
    [kind("serving.kserve.io/v1beta1", "InferenceService", "predictor: { model: {} }"), "InferenceService"],
    [
      kind("argoproj.io/v1alpha1", "Workflow", "templates: [{ name: a, container: { image: b } }]"),
      "Workflow",
    ],
    [kind("tekton.dev/v1", "Task", "steps: [{ name: a, image: b }]"), "Task"],
    [kind("ray.io/v1", "RayCluster", `headGroupSpec: { ${template} }`), "RayCluster"],
    [kind("sparkoperator.k8s.io/v1beta2", "SparkApplication", "image: spark"), "SparkApplication"],
    [
      `apiVersion: v1\nkind: List\nitems:\n- { apiVersion: a/v1, kind: Widget, spec: { ${template} } }\n`,
      "Widget",
    ],
    [
      `apiVersion: template.openshift.io/v1\nkind: Template\nobjects:\n- { apiVersion: apps/v1, kind: Deployment, spec: { ${template} } }\n`,
      "Template",
    ],
  ] as const)
    test(`${unread} runs pods, and is counted`, () => {
      const audited = of(text);
      assert.deepEqual(
        [audited.failures, Object.fromEntries(audited.inventory.unread)],
        [[], { [unread]: 1 }],
      );
      assert.match(textReport(audited), new RegExp(`Not judged, although they run pods: 1 ${unread}\\.`));
      const { notJudged } = JSON.parse(jsonReport(audited)) as { notJudged: unknown };
      assert.deepEqual(notJudged, { [unread]: 1 });
    });

  for (const [what, text] of [
    ["a schema", kind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "containers: [{ image: a }]")],
    [
      "a manifest as text",
      "apiVersion: v1\nkind: Secret\nstringData:\n  a: |\n    containers: [{ image: a }]\n",
    ],
    ["a pattern", kind("policies.kyverno.io/v1", "ValidatingPolicy", "containers: [{ image: a }]")],
    ["what is broken", "apiVersion: a/v1\nkind: Widget\nspec: { containers: [\n"],
  ] as const)
    test(`an object that runs no pods is not counted as unread: ${what}`, () => {
      const { inventory, failures } = of(text);
      assert.deepEqual([failures, inventory.unread.size, inventory.skipped.size], [[], 0, 1]);
    });
});

test("the report on a pod for Windows says which rules do not apply", () => {
  const windows = `spec: { nodeSelector: { beta.kubernetes.io/os: windows }, containers: [{ name: web, image: web, command: [sh, -c, "a | b"], ports: [{ containerPort: 80 }] }] }`;
  const text = `{ apiVersion: v1, kind: Pod, metadata: { name: web }, ${windows} }`;
  const audited = of(text);
  assert.deepEqual(audited.findings.map(({ rule }) => rule).sort(), ["grace-too-short", "no-lame-duck"]);
  assert.match(
    textReport(audited),
    /Pod web is for Windows \(nodeSelector beta\.kubernetes\.io\/os is windows\): shell-swallows-term, term-not-graceful, hook-needs-binary do not apply to it\./,
  );
  const { notApplied } = JSON.parse(jsonReport(audited)) as { notApplied: unknown };
  assert.deepEqual(notApplied, {
    "Pod web": ["shell-swallows-term", "term-not-graceful", "hook-needs-binary"],
  });
  const linux = of(text.replace(": windows", ": linux"));
  assert.ok(linux.findings.some(({ rule }) => rule === "shell-swallows-term"));
});

test("the report names the command for what has to be rendered first", () => {
  const kustomization = "resources: [../base]\npatches: [{ path: web.yaml }]\n";
  for (const [text, name, command] of [
    [kustomization, "overlay/kustomization.yaml", "kubectl kustomize"],
    ["apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n", "k.yaml", "kubectl kustomize"],
    [
      "apiVersion: apps/v1\nkind: Deployment\nspec: { template: { spec: { containers: [{ name: a, env: [] }] } } }\n",
      "patch.yaml",
      "kubectl kustomize",
    ],
    ["apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n", "release.yaml", "helm template"],
    ["apiVersion: argoproj.io/v1alpha1\nkind: Application\n", "app.yaml", "argocd app manifests"],
  ] as const)
    for (const isFound of [true, false]) {
      const report = textReport(of(text, name, isFound));
      assert.match(report, new RegExp(`There is no workload to audit.*render it: ${command}`), name);
    }
});
