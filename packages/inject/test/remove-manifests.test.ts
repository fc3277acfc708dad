import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { injectManifests, removeFromManifests } from "../src/index.ts";

const manifests = globSync(["golden/*/*.yaml", "scenarios/*.yaml"], {
  cwd: join(import.meta.dirname, "../../audit/test"),
}).map((path) => readFileSync(join(import.meta.dirname, "../../audit/test", path), "utf8"));

type Facts = Parameters<typeof injectManifests>[1]["facts"];
const facts: Facts = {
  lameduckVersion: "0.1.0",
  version: undefined,
  architectures: undefined,
  isUndoable: true,
};
const policy = (spec: object): unknown => ({
  apiVersion: "lameduck.dev/v1alpha1",
  kind: "DrainPolicy",
  metadata: { name: "default" },
  spec,
});

function injected(text: string, spec: object = {}): string {
  const { files, failures } = injectManifests([{ name: "a.yaml", text }], {
    facts,
    clusterPolicy: policy(spec),
  });
  assert.deepEqual(failures, [], text);
  return files[0]?.after.text ?? "";
}

function removed(text: string): { readonly text: string; readonly kept: readonly string[] } {
  const { files, failures, workloads } = removeFromManifests([{ name: "a.yaml", text }]);
  assert.deepEqual(failures, [], text);
  return { text: files[0]?.after.text ?? "", kept: workloads.flatMap(({ kept }) => kept) };
}

const settings = {
  "the ConfigMap": {},
  "the kubelet's sleep": { initVolume: "none" },
  "an init container": { initVolume: "init-container", initImage: "lameduck:1" },
  "the library": { instrumentNode: true },
  "a hold in place of sleeps": { existingSleep: "replace" },
  "a grace period of its own": { gracePeriodSeconds: 90, capSeconds: 40, floorSeconds: 2 },
};

for (const [by, spec] of Object.entries(settings))
  test(`what was injected by ${by} is taken out, and the manifest is as it was, byte for byte`, () => {
    let changed = 0;
    for (const [index, whole] of manifests.entries()) {
      const text = [whole, whole.replaceAll("\n", "\r\n"), whole.trimEnd()][index % 3] ?? whole;
      const after = injected(text, spec);
      if (after !== text) changed++;
      const back = removed(after);
      assert.equal(back.text, text, after);
      assert.deepEqual(back.kept, []);
    }
    assert.ok(changed > 80, `${changed} were injected`);
  });

const web = `apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  template:
    metadata:
      annotations: { a: b }
    spec:
      # the only one
      containers:
        - image: node:24 # the image
          # its name
          name: web
          env:
            - name: NODE_OPTIONS
              value: --enable-source-maps
            - name: LONGEST
              value: 20s
              # longer is too long
          ports: [{ containerPort: 80 }]
          lifecycle: { postStart: { exec: { command: [a] } } }
        - { name: log, image: log, lifecycle: { preStop: { sleep: { seconds: 5 } } }, env: [ { name: A } # one
          ] }
      # the end
`;

test("a key that had no value has no value again after the injection is taken out", () => {
  const text = web
    .replace("annotations: { a: b }", "annotations: # none yet")
    .replace(/env:\n(?: +(?:-|value|#).*\n)+/, "env:\n");
  assert.match(text, /env:\n {10}ports/);
  for (const spec of Object.values(settings)) assert.equal(removed(injected(text, spec)).text, text);
});

test("an empty list or mapping is the same again after the injection is taken out", () => {
  const values = ["[]", "[   ] # none", "~", "null", "[ # none\n            ]", "\n            []"];
  const maps = ["{}", "{ } # none", "null", "\n            {}", "", "{ # none\n            }"];
  for (const [index, list] of values.entries())
    for (const map of [maps[index] ?? "", "{ preStop: }", "\n            preStop:"]) {
      const text = web
        .replace(/env:\n(?: +(?:-|value|#).*\n)+/, `env: ${list}\n          volumeMounts: ${list}\n`)
        .replace("{ postStart: { exec: { command: [a] } } }", map)
        .replace("annotations: { a: b }", `annotations: ${maps[index]}`)
        .replace("      # the only one", `      volumes: ${list}\n      initContainers: ${list}`);
      for (const spec of Object.values(settings)) assert.equal(removed(injected(text, spec)).text, text);
    }
  for (const metadata of ["{}", "null", "{ annotations: {} }"]) {
    const json = `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web"},"spec":{"template":{"metadata":${metadata},"spec":{"volumes":[],"containers":[{"env":[],"name":"web","image":"x","lifecycle":{},"volumeMounts":null,"ports":[{"containerPort":80}]}]}}}}`;
    for (const spec of Object.values(settings)) assert.equal(removed(injected(json, spec)).text, json);
  }
});

test("only what was injected is taken out of a manifest that was changed by hand, and what stays is named", () => {
  for (const spec of Object.values(settings)) assert.equal(removed(injected(web, spec)).text, web);
  const after = injected(web, { initVolume: "none" })
    .replace(/terminationGracePeriodSeconds: \d+/, "terminationGracePeriodSeconds: 77")
    .replace("# the end", "# the end, by hand")
    .replace(
      "- name: LAMEDUCK_GRACE_PERIOD",
      "- name: MINE\n              value: x\n            - name: LAMEDUCK_GRACE_PERIOD",
    );
  const back = removed(after);
  assert.match(back.text, /terminationGracePeriodSeconds: 77\n/);
  assert.match(back.text, /- name: MINE\n {14}value: x\n/);
  assert.match(back.text, /# the end, by hand\n$/);
  assert.match(back.text, /preStop: \{ sleep: \{ seconds: 5 \} \}/, "somebody's own sleep stays");
  assert.doesNotMatch(back.text, /lameduck\.dev|LAMEDUCK_PRESTOP/);
  assert.ok(back.kept.includes("terminationGracePeriodSeconds is not as it was injected"), back.kept.join());
});
