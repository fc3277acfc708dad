import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { apiVersion } from "@lameduck/protocol";
import {
  defaultSettings,
  drainPolicyCrd,
  inject,
  podToInject,
  settingsFor,
  validateAnnotations,
  validatePolicy,
} from "../src/index.ts";
import { settingFields, settingNames, type SettingField, type SettingName } from "../src/policy/fields.ts";
import { injected, web } from "./injected.ts";
import { wrongSpecs } from "../../../e2e/inject/wrong-policies.ts";

const policy = (spec: unknown): Record<string, unknown> => ({
  apiVersion,
  kind: "DrainPolicy",
  metadata: { name: "default" },
  spec,
});

const facts = {
  lameduckVersion: "0.1.0",
  exposedBy: undefined,
  version: undefined,
  convergenceSeconds: undefined,
  architectures: undefined,
};

const pod = (annotations: unknown): unknown => ({
  metadata: { annotations },
  spec: { containers: [{ name: "web", ports: [{ containerPort: 80 }] }] },
});

describe("a DrainPolicy", () => {
  it("a DrainPolicy may have no field, or all fields that there are", () => {
    const least = settingNames.flatMap((name) => {
      const field = settingFields[name];
      return field.kind === "seconds" ? [[name, field.least]] : [];
    });
    const all = {
      ...Object.fromEntries(least),
      inject: true,
      floorSeconds: 2,
      capSeconds: 40,
      reserveSeconds: 20,
      gracePeriodSeconds: 60,
      maxGracePeriodSeconds: 120,
      convergenceSeconds: 10,
      initVolume: "image-volume",
      initConfigMap: "lameduck-init",
      initImage: "registry.example:5000/lameduck@sha256:00ff",
      architecture: "arm64",
      instrumentNode: true,
      existingSleep: "replace",
      onlyExposed: false,
    };
    assert.deepEqual(validatePolicy(policy(all)), []);
    assert.deepEqual(
      Object.keys(all).toSorted(),
      settingNames.filter((name) => settingFields[name].inPolicy).toSorted(),
    );
    assert.deepEqual(validatePolicy(policy(undefined)), []);
    const { settings, origins, warnings } = settingsFor({ clusterPolicy: policy(all) });
    assert.deepEqual({ ...settings, serves: undefined }, { ...all, serves: undefined });
    assert.equal(origins.initVolume, "cluster");
    assert.deepEqual(warnings, []);
  });

  for (const [field, spec] of wrongSpecs)
    it(`a DrainPolicy is wrong in ${field}: ${JSON.stringify(spec).slice(0, 60)}`, () => {
      const [problem] = validatePolicy(policy(spec)).filter((one) => one.field === `spec.${field}`);
      assert.ok(problem, JSON.stringify(validatePolicy(policy(spec))));
      assert.ok(problem.message !== "" && problem.remedy !== "");
      const { warnings, settings } = settingsFor({ clusterPolicy: policy(spec) });
      // What bounds of two fields say of each other is settled, too.
      assert.ok(warnings.length > 0 || field === "capSeconds", "pods are told");
      assert.notDeepEqual(
        inject(podToInject(pod({})), settings, facts).patch,
        [],
        "and are injected with defaults",
      );
    });

  it("a DrainPolicy with an unknown field is told which field was probably meant", () => {
    const [problem] = validatePolicy(policy({ capSecond: 3 }));
    assert.match(
      `${problem?.field}: ${problem?.message}`,
      /^spec\.capSecond: no such field \(did you mean capSeconds\?\)/,
    );
  });

  for (const [object, field] of [
    [undefined, ""],
    [[], ""],
    [{ ...policy({}), apiVersion: "lameduck.dev/v2" }, "apiVersion"],
    [{ ...policy({}), kind: "Drain" }, "apiVersion"],
    [{ ...policy({}), metadata: { name: "other" } }, "metadata.name"],
    [{ ...policy({}), metadata: undefined }, "metadata.name"],
    [policy("x"), "spec"],
    [policy([]), "spec"],
  ] as const)
    it(`a DrainPolicy is wrong as ${JSON.stringify(object) ?? "nothing"}`, () => {
      const problems = validatePolicy(object);
      assert.ok(
        problems.some((one) => one.field === field && one.remedy !== ""),
        JSON.stringify(problems),
      );
    });
});

describe("annotations", () => {
  const seconds = [
    "20",
    "20 s",
    "1.5s",
    "-1s",
    "500ms",
    "1h",
    "",
    "s",
    "020s",
    "999999s",
    " 20s",
    "20s\n",
    "0x10s",
    "20S",
  ];
  const wrong: Readonly<Record<SettingField["kind"], (field: SettingField) => readonly string[]>> = {
    switch: () => ["yes", "True", "1", "", "enabled", " true"],
    choice: () => ["floppy", "", "ConfigMap", "none;"],
    seconds: (field) => {
      const { least, most } = field as Extract<SettingField, { kind: "seconds" }>;
      return [...seconds, `${most + 60}s`, `${Math.floor(most / 60) + 1}m`, ...(least > 0 ? ["0s"] : [])];
    },
    text: () => [],
  };

  for (const field of settingNames.map((each) => settingFields[each]))
    for (const value of [...wrong[field.kind](field), 20, true, null, {}, []]) {
      const name = field.annotation;
      if (name === undefined) break;
      it(`an annotation lameduck.dev/${name}: ${JSON.stringify(value)} is rejected, and the pod is admitted with defaults`, () => {
        const key = `lameduck.dev/${name}`;
        const [problem] = validateAnnotations({ [key]: value });
        assert.equal(problem?.field, key);
        assert.ok(problem.message !== "" && problem.remedy !== "");
        const { settings, warnings } = settingsFor({ podAnnotations: { [key]: value } });
        assert.deepEqual(settings, defaultSettings);
        assert.match(warnings.join(), new RegExp(key));
        assert.notDeepEqual(inject(podToInject(pod({ [key]: value })), settings, facts).patch, []);
      });
    }

  it("the grace periods of a namespace's policy stay below the cluster's greatest grace period", () => {
    const namespacePolicy = policy({ maxGracePeriodSeconds: 86_400, gracePeriodSeconds: 4_000 });
    const { settings, origins, warnings } = settingsFor({
      namespacePolicy,
      clusterPolicy: policy({ maxGracePeriodSeconds: 900 }),
    });
    assert.deepEqual([settings.maxGracePeriodSeconds, settings.gracePeriodSeconds], [900, 900]);
    assert.equal(origins.maxGracePeriodSeconds, "cluster");
    assert.match(warnings[0] ?? "", /the cluster's policy allows 900 s at most/);
    const lower = settingsFor({ namespacePolicy, clusterPolicy: policy({}) }).settings;
    assert.equal(lower.maxGracePeriodSeconds, 86_400, "where the cluster says nothing");
  });

  it("annotations that are right are taken", () => {
    const { settings, warnings, origins } = settingsFor({
      podAnnotations: {
        "lameduck.dev/cap": "2m",
        "lameduck.dev/floor": "0s",
        "lameduck.dev/serves": "true",
        "example.com/x": "y",
      },
      clusterPolicy: policy({ capSeconds: 7, reserveSeconds: 8 }),
    });
    assert.deepEqual([settings.capSeconds, settings.floorSeconds, settings.serves], [120, 0, true]);
    assert.deepEqual(
      [origins.capSeconds, origins.reserveSeconds, origins.initVolume],
      ["annotation", "cluster", "default"],
    );
    assert.deepEqual(warnings, []);
  });

  it("annotations of the audit and of the injection itself are known", () => {
    const known = {
      "lameduck.dev/drain": "20s",
      "lameduck.dev/ignore-no-lame-duck": "we know",
      "lameduck.dev/injected": "0.1.0",
    };
    assert.deepEqual(validateAnnotations(known), []);
    assert.match(validateAnnotations({ "lameduck.dev/caps": "1s" })[0]?.message ?? "", /did you mean cap\?/);
  });

  it("annotations that contradict each other are told", () => {
    const problems = validateAnnotations({ "lameduck.dev/floor": "9s", "lameduck.dev/cap": "8s" });
    assert.deepEqual(
      problems.map(({ field }) => field),
      ["lameduck.dev/floor"],
    );
  });
});

describe("precedence", () => {
  it("an annotation wins over the namespace's policy, which wins over the cluster's policy and the default", () => {
    const sources = {
      podAnnotations: { "lameduck.dev/cap": "1s" },
      namespacePolicy: policy({ capSeconds: 2, floorSeconds: 1 }),
      clusterPolicy: policy({ capSeconds: 3, floorSeconds: 2, reserveSeconds: 3 }),
    };
    const { settings, origins } = settingsFor(sources);
    assert.deepEqual([settings.capSeconds, settings.floorSeconds, settings.reserveSeconds], [1, 1, 3]);
    assert.deepEqual(
      [origins.capSeconds, origins.floorSeconds, origins.reserveSeconds],
      ["annotation", "namespace", "cluster"],
    );
  });

  it("a wrong setting in one source leaves the setting to the next source", () => {
    const { settings, warnings } = settingsFor({
      podAnnotations: { "lameduck.dev/cap": "soon" },
      namespacePolicy: policy({ capSeconds: "2" }),
      clusterPolicy: policy({ capSeconds: 3 }),
    });
    assert.equal(settings.capSeconds, 3);
    assert.equal(warnings.length, 2);
  });

  it("bounds from several sources that contradict each other are settled, with a warning", () => {
    const { settings, warnings } = settingsFor({
      podAnnotations: {
        "lameduck.dev/floor": "30s",
        "lameduck.dev/grace-period": "99m",
        "lameduck.dev/init-volume": "image-volume",
      },
      clusterPolicy: policy({ capSeconds: 20 }),
    });
    assert.deepEqual([settings.gracePeriodSeconds, settings.initVolume], [600, "none"]);
    const byHook = JSON.stringify(
      injected({ spec: { containers: [web] } }, { ...settings, initVolume: "configmap" }).patch,
    );
    assert.match(byHook, /"--cap","20s","--floor","20s"/);
    assert.equal(warnings.length, 3);
  });

  it("the settings of a pod never fail, whatever the sources are", () => {
    fc.assert(
      fc.property(
        fc.anything(),
        fc.anything(),
        fc.anything(),
        (podAnnotations, namespacePolicy, clusterPolicy) => {
          const { settings } = settingsFor({ podAnnotations, namespacePolicy, clusterPolicy });
          assert.deepEqual(settings, { ...defaultSettings, ...settings });
          validatePolicy(clusterPolicy);
          validateAnnotations(podAnnotations);
        },
      ),
    );
  });
});

describe("the CustomResourceDefinition", () => {
  it("the CustomResourceDefinition of DrainPolicy has each field of a policy, and no other", () => {
    const [version] = drainPolicyCrd.spec.versions;
    const { properties } = version.schema.openAPIV3Schema as { properties: { spec: { properties: object } } };
    const fields: readonly SettingName[] = settingNames.filter((name) => settingFields[name].inPolicy);
    assert.deepEqual(Object.keys(properties.spec.properties), [...fields, "acknowledgements"]);
  });
});
