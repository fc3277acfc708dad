import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { audit, imagesOf } from "@lameduck/audit";
import { parse } from "yaml";
import {
  inject,
  podToInject,
  injectManifests,
  settingsFor,
  type InjectedManifests,
  applyPatch,
} from "../src/index.ts";
import { facts as known } from "./injected.ts";

const facts = { ...known, exposedBy: undefined, convergenceSeconds: undefined };

function inFile(text: string, name = "d.yaml"): InjectedManifests {
  return injectManifests([{ name, text }], { facts });
}

const deployment = (metadata: string, spec: string, container: string): string => `# the shop
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  template:
${metadata}    spec:
${spec}      containers:
        ${container} web
          image: registry.example/web:1
          ports: [{ containerPort: 8080 }]
`;

/** As templates of charts leave it where a value is empty. */
const empty: readonly (readonly [what: string, text: string])[] = [
  ["metadata", deployment("    metadata:\n", "", "- name:")],
  ["annotations", deployment("    metadata:\n      annotations:\n", "", "- name:")],
  ["volumes", deployment("", "      volumes: # none\n", "- name:")],
  ["the grace period", deployment("", "      terminationGracePeriodSeconds: null\n", "- name:")],
  ["variables and mounts", deployment("", "", "- env:\n          volumeMounts: ~\n          name:")],
  ["the lifecycle", deployment("", "", "- lifecycle:\n          name:")],
  ["the hook", deployment("", "", "- lifecycle:\n            preStop:\n          name:")],
];

describe("manifests", () => {
  it("a container whose own hook was kept counts for the audit as held by that hook only", () => {
    const { files } = inFile(`apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }] }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      containers:
        - name: web
          image: registry.example/web:1
          ports: [{ containerPort: 8080 }]
          lifecycle: { preStop: { exec: { command: [sleep, "5"] } } }
        - name: other
          image: registry.example/other:1
          ports: [{ containerPort: 8081 }]
`);
    const [done] = files;
    assert.ok(done);
    const { before, after } = done;
    const rulesIn = (text: string): string[] =>
      audit([{ name: "d.yaml", text }], {
        images: imagesOf([]),
        facts: {},
        kubernetes: 36,
        suppressions: { ignored: [], baseline: new Set() },
      })
        .findings.filter(({ container }) => container === "web")
        .map(({ rule }) => rule);
    assert.match(after.text, /LAMEDUCK_GRACE_PERIOD/);
    assert.ok(rulesIn(before.text).includes("lame-duck-too-short"));
    assert.ok(rulesIn(after.text).includes("lame-duck-too-short"), after.text);
  });

  for (const [what, text] of empty)
    it(`a manifest is injected where a key is without a value: ${what}`, () => {
      const { files, failures } = inFile(text);
      assert.deepEqual(failures, []);
      const after = files[0]?.after.text ?? "";
      const templateOf = (from: string): unknown =>
        (parse(from) as { spec: { template: unknown } }).spec.template;
      const { patch } = inject(podToInject(templateOf(text)), settingsFor({}).settings, facts);
      assert.deepEqual(templateOf(after), applyPatch(templateOf(text), patch), after);
      assert.equal(inFile(after).files[0]?.after.text, after, "a second time changes nothing");
    });

  it("a manifest is left as it is where an edit would not be read as it is meant", () => {
    for (const container of [
      "- &c name:",
      "- &c workingDir: >\n            /a\n          name:",
      "- !!str name:",
    ]) {
      const text = deployment("", "", container);
      const { files, failures } = inFile(text);
      assert.equal(failures[0]?.code, "LAMEDUCK_OPERATOR_CANNOT_EDIT", text);
      assert.equal(files[0]?.after.text, text);
    }
  });

  it("annotations of a manifest that are no mapping are reported, and the manifests after it are injected", () => {
    for (const annotations of ["[a]", "hello"]) {
      const text = deployment(`    metadata: { annotations: ${annotations} }\n`, "", "- name:");
      const { failures, workloads } = inFile(`${text}---\n${deployment("", "", "- name:")}`);
      assert.match(failures[0]?.message ?? "", /annotations: must be a mapping of fields/);
      assert.deepEqual(
        workloads.map(({ isInjected }) => isInjected),
        [true],
      );
    }
  });

  it("a manifest is read with what its merge keys stand for, and is not edited there", () => {
    const shared = (fields: string): string =>
      `x: &shared { ${fields} }\n${deployment("", "", "- <<: *shared\n          name:")}`;
    const ports = shared("ports: [{ containerPort: 8080 }]").replace(/\n +ports.*\n$/, "\n");
    assert.equal(inFile(ports).failures[0]?.code, "LAMEDUCK_OPERATOR_CANNOT_EDIT");
    const hook = inFile(shared("lifecycle: { preStop: { exec: { command: [/stop] } } }"));
    assert.deepEqual(hook.failures, []);
    assert.equal(hook.workloads[0]?.reasons[0]?.code, "hook-kept");
  });

  it("the manifest of a Job is injected where its annotation asks for it", () => {
    const job = (asks: string): string => `apiVersion: batch/v1
kind: Job
metadata: { name: load }
spec:
  template:
    metadata: { annotations: { lameduck.dev/inject: "${asks}" } }
    spec:
      restartPolicy: Never
      containers: [{ name: a, image: a, ports: [{ containerPort: 80 }] }]
`;
    assert.equal(inFile(job("true")).workloads[0]?.isInjected, true);
    assert.equal(inFile(job("false")).workloads[0]?.isInjected, false);
  });

  it("a manifest's annotation that a newer version may know is told, and a misspelt annotation is refused", () => {
    const annotated = (name: string): InjectedManifests =>
      inFile(deployment(`    metadata: { annotations: { lameduck.dev/${name}: "1" } }\n`, "", "- name:"));
    const { failures, workloads } = annotated("something-new");
    assert.deepEqual(failures, []);
    assert.match(workloads[0]?.warnings[0] ?? "", /something-new: no such annotation/);
    assert.equal(annotated("convergense").failures[0]?.code, "LAMEDUCK_OPERATOR_BAD_ANNOTATION");
  });

  it("settings of the workload itself, which reach no pod, are told", () => {
    const warningsOf = (template: string): unknown =>
      inFile(
        deployment(template, "", "- name:").replace(
          "{ name: web }",
          '{ name: web, annotations: { lameduck.dev/cap: 9s, lameduck.dev/ignore-rules: "a" } }',
        ),
      ).workloads[0]?.warnings;
    assert.deepEqual(warningsOf(""), [
      "lameduck.dev/cap is read from spec.template.metadata.annotations only: move it there",
    ]);
    assert.deepEqual(warningsOf("    metadata: { annotations: { lameduck.dev/cap: 8s } }\n"), []);
  });

  it("a manifest that was injected before brings a warning only where the settings have changed since", () => {
    const annotated = (annotation: string, grace: number): string =>
      deployment(
        `    metadata:\n      annotations:\n        ${annotation}\n`,
        `      terminationGracePeriodSeconds: ${grace}\n`,
        "- name:",
      );
    for (const grace of [1, 5, 14, 30, 300, 590, 700]) {
      const text = inFile(annotated("lameduck.dev/cap: 40s", grace)).files[0]?.after.text ?? "";
      assert.deepEqual(inFile(text).workloads[0]?.warnings, [], `${grace} s`);
      const [longer] = inFile(text.replace("cap: 40s", "cap: 60s")).workloads;
      assert.match(
        longer?.warnings[0] ?? "",
        /^a hold of 60 s is asked for, and the hook .* has \d+ s; take out/,
      );
      const [declined] = inFile(text.replace("cap: 40s", 'inject: "false"')).workloads;
      assert.deepEqual(declined?.warnings, [
        "it declines, and was injected before: take out what was injected",
      ]);
    }
  });
});
