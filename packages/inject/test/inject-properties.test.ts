import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { parseAllDocuments, stringify } from "yaml";
import {
  admissionPolicy,
  defaultSettings,
  inject,
  podToInject,
  injectManifests,
  settingsFor,
  type ClusterFacts,
  applyPatch,
} from "../src/index.ts";
import { literal } from "../src/cel/expression.ts";
import { generatedPods, pods } from "../../../e2e/inject/pods.ts";

type Fields = Record<string, unknown>;

const facts: ClusterFacts = {
  lameduckVersion: "0.1.0",
  exposedBy: undefined,
  version: { major: 1, minor: 36 },
  convergenceSeconds: undefined,
  architectures: undefined,
  coordinator: { address: "http://lameduck-coordinator.lameduck-system.svc:8070", mode: "consistency" },
};

const clusterPolicy = {
  apiVersion: "lameduck.dev/v1alpha1",
  kind: "DrainPolicy",
  metadata: { name: "default" },
  spec: { instrumentNode: true, initImage: "registry.example/lameduck:0.1.0", existingSleep: "replace" },
};
const keepingSleeps = { ...clusterPolicy, spec: { ...clusterPolicy.spec, existingSleep: "keep" } };

function injected(pod: Fields, policy = clusterPolicy): unknown {
  const { annotations } = pod["metadata"] as { annotations?: Fields };
  const { settings } = settingsFor({ clusterPolicy: policy, podAnnotations: annotations });
  return applyPatch(pod, inject(podToInject(pod), settings, facts).patch);
}

const deploymentOf = ({ metadata, spec }: Fields): Fields => {
  const { name, ...rest } = metadata as Fields;
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: { template: { metadata: rest, spec } },
  };
};

/** As somebody writes them: with comments, in block and flow style, and as JSON. */
const styles: Readonly<Record<string, (object: Fields) => string>> = {
  "YAML in blocks": (object) => `# a comment\n${stringify(object)}# the end\n`,
  "YAML with deeper lists": (object) => stringify(object, { indentSeq: false, indent: 4 }),
  "YAML in flow": (object) => stringify(object, { collectionStyle: "flow" }),
  JSON: (object) => JSON.stringify(object, undefined, 2),
  "JSON on one line": (object) => JSON.stringify(object),
};

describe("manifests and pods are injected alike", () => {
  for (const [style, write] of Object.entries(styles))
    it(`200 generated pods are injected alike as pods and as Deployments in ${style}`, () => {
      for (const pod of generatedPods(200)) {
        const deployment = deploymentOf(pod);
        const text = write(deployment);
        const { files, failures } = injectManifests([{ name: "d.yaml", text }], { facts, clusterPolicy });
        const after = files[0]?.after.text ?? "";
        // Annotations with a mistake are told; the pod counts on defaults then, as at admission.
        assert.deepEqual(
          failures.filter(({ code }) => code !== "LAMEDUCK_OPERATOR_BAD_ANNOTATION"),
          [],
          text,
        );
        const [document] = parseAllDocuments(after);
        assert.ok(document);
        const { spec } = document.toJS() as { spec: { template: Fields } };
        const { metadata, spec: podSpec } = injected(pod) as { metadata: Fields; spec: Fields };
        const { name: _, ...rest } = metadata;
        assert.deepEqual(spec.template, { metadata: rest, spec: podSpec }, after);
        const again = injectManifests([{ name: "d.yaml", text: after }], { facts, clusterPolicy });
        assert.equal(again.files[0]?.after.text, after, "a second time changes nothing");
        if (after !== text && style === "YAML in blocks")
          assert.match(after, /^# a comment\n[^]*# the end\n$/);
      }
    });
});

/** Pods whose first container has a sleep. */
const sleepers = fc.tuple(pods, fc.constantFrom(1, 12, 20, 45, 400)).map(([pod, seconds]) => {
  const { containers, ...spec } = pod["spec"] as Fields & { containers: Fields[] };
  const [first = {}, ...rest] = containers;
  const lifecycle = { preStop: { exec: { command: ["sleep", `${seconds}`] } } };
  return { ...pod, spec: { ...spec, containers: [{ ...first, lifecycle }, ...rest] } };
});

describe("any pod", () => {
  it("a pod is injected once: a second injection changes nothing", () => {
    fc.assert(
      fc.property(pods, (pod) => {
        const once = injected(pod) as Fields;
        assert.deepEqual(injected(once), once);
      }),
    );
  });

  it("an injected pod keeps every hook, variable and mount that it has", () => {
    fc.assert(
      fc.property(pods, (pod) => {
        const before = (pod["spec"] as { containers: Fields[] }).containers;
        const after = (injected(pod, keepingSleeps) as { spec: { containers: Fields[] } }).spec.containers;
        for (const [index, container] of before.entries()) {
          const now = after[index] ?? {};
          const hook = (container["lifecycle"] as Fields | undefined)?.["preStop"];
          if (hook !== undefined) assert.deepEqual((now["lifecycle"] as Fields)["preStop"], hook);
          for (const list of ["env", "volumeMounts"])
            for (const one of (container[list] as Fields[] | undefined) ?? [])
              assert.ok(
                (now[list] as Fields[]).some((each) => isKept(one, each)),
                JSON.stringify(one),
              );
        }
      }),
    );
  });

  it("an injected pod has a grace period no shorter than before, in which its hold fits", () => {
    fc.assert(
      fc.property(pods, (pod) => {
        const before =
          (pod["spec"] as { terminationGracePeriodSeconds?: number }).terminationGracePeriodSeconds ?? 30;
        const { spec } = injected(pod) as {
          spec: { terminationGracePeriodSeconds?: number; containers: Fields[] };
        };
        const grace = spec.terminationGracePeriodSeconds ?? 30;
        assert.ok(grace >= before);
        for (const [, cap] of JSON.stringify(spec).matchAll(/"--cap","(\d+)s"/g))
          assert.ok(Number(cap) < grace);
      }),
    );
  });

  it("a hold in place of a sleep may last as long as that, as far as the grace period lets it", () => {
    let replaced = 0;
    fc.assert(
      fc.property(sleepers, (pod) => {
        const { metadata, spec } = injected(pod) as { metadata: Fields; spec: Fields };
        const sleep = Number.parseInt(
          String((metadata["annotations"] as Fields | undefined)?.["lameduck.dev/former-sleep"]),
          10,
        );
        const annotations = Object.keys((metadata["annotations"] as Fields | undefined) ?? {});
        const isBounded = annotations.some((key) => /\/(?:reserve|node-shutdown)$/.test(key));
        if (Number.isNaN(sleep) || isBounded) return;
        replaced++;
        const before = ((pod["spec"] as Fields)["terminationGracePeriodSeconds"] as number | undefined) ?? 30;
        const grace = (spec["terminationGracePeriodSeconds"] as number | undefined) ?? 30;
        for (const [, cap] of JSON.stringify(spec).matchAll(/"--cap","(\d+)s"/g))
          assert.ok(
            Number(cap) >= Math.min(sleep, before, grace - Math.min(5, Math.ceil(grace / 3))),
            `${cap} of ${grace} s`,
          );
      }),
      { numRuns: 300 },
    );
    assert.ok(replaced > 5, `${replaced} were replaced`);
  });
});

const textIn = ({ value }: Fields): string => (typeof value === "string" ? value : "");

/** NODE_OPTIONS alone are added to. */
function isKept(before: Fields, after: Fields): boolean {
  if (before["name"] !== "NODE_OPTIONS") return JSON.stringify(before) === JSON.stringify(after);
  return after["name"] === "NODE_OPTIONS" && textIn(after).startsWith(textIn(before));
}

describe("strangers", () => {
  const mark = "sTrAnGeR";
  const hostile = fc
    .tuple(
      fc.constantFrom('"', "'", "`", "$(", "\n", "\\", "../", ";", "{{", "}", "\u0000", "]"),
      fc.string(),
    )
    .map(([sign, rest]) => `${sign}${mark}${rest}`);

  it("nothing that a stranger writes is injected: no name, image, path, annotation or policy", () => {
    fc.assert(
      fc.property(pods, fc.array(hostile, { minLength: 6, maxLength: 6 }), (pod, texts) => {
        const [name, image, key, value, port, program] = texts as [
          string,
          string,
          string,
          string,
          string,
          string,
        ];
        const { containers, ...spec } = pod["spec"] as { containers: Fields[] } & Fields;
        const strange = {
          ...pod,
          metadata: {
            name,
            annotations: { "lameduck.dev/cap": value, "lameduck.dev/init-volume": value, [key]: value },
            labels: { [key]: value },
          },
          spec: {
            ...spec,
            nodeSelector: { "kubernetes.io/arch": value },
            containers: containers.map((one, index) => ({
              ...one,
              name: `${name}${index}`,
              image,
              ports: [{ name: port, containerPort: 80 }],
              ...(index % 2 === 0 ? { command: [program] } : {}),
            })),
          },
        };
        const policy = {
          ...clusterPolicy,
          spec: { initConfigMap: value, initImage: image, initVolume: value, capSeconds: value },
        };
        const { settings } = settingsFor({
          clusterPolicy: policy,
          podAnnotations: strange.metadata.annotations,
        });
        const { patch } = inject(podToInject(strange), settings, facts);
        assert.doesNotMatch(JSON.stringify(patch), new RegExp(mark));
        assert.doesNotMatch(JSON.stringify(admissionPolicy(settings, facts)), new RegExp(mark));
      }),
    );
  });

  it("texts of strangers that are written into CEL stay texts", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => assert.equal(JSON.parse(literal(text)), text)),
    );
    assert.equal(literal(`"] + ['`), `"\\"] + ['"`);
  });

  it("anything that is sent for a pod is left alone, or its patch fits", () => {
    const json = fc.jsonValue({ maxDepth: 4 });
    const keys = [
      "containers",
      "initContainers",
      "volumes",
      "nodeSelector",
      "terminationGracePeriodSeconds",
      "restartPolicy",
      "os",
    ];
    const inner = [
      "name",
      "image",
      "command",
      "args",
      "env",
      "envFrom",
      "ports",
      "volumeMounts",
      "lifecycle",
      "readinessProbe",
    ];
    fc.assert(
      fc.property(
        pods,
        fc.constantFrom(...keys),
        fc.constantFrom(...inner),
        json,
        json,
        (pod, key, field, one, two) => {
          const { containers, ...spec } = pod["spec"] as { containers: Fields[] } & Fields;
          for (const odd of [
            one,
            { spec: one },
            { ...pod, metadata: one },
            { ...pod, spec: { ...spec, containers, [key]: one } },
            { ...pod, spec: { ...spec, containers: containers.map((each) => ({ ...each, [field]: two })) } },
            {
              ...pod,
              spec: { ...spec, containers: containers.map((each) => ({ ...each, [field]: [one, two] })) },
            },
          ]) {
            const { patch } = inject(podToInject(odd), { ...defaultSettings, instrumentNode: true }, facts);
            applyPatch(odd, patch);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});
