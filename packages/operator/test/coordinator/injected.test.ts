import assert from "node:assert/strict";
import test from "node:test";
import { defaultSettings, inject, type ClusterFacts } from "@lameduck/operator";
import { patched } from "../../../../e2e/inject/patched.ts";

const facts: ClusterFacts = {
  lameduckVersion: "0.1.0",
  exposedBy: ["Service web"],
  version: { major: 1, minor: 36 },
  convergenceSeconds: undefined,
  architectures: ["amd64"],
};
const coordinator = "http://lameduck-coordinator.lameduck-system.svc:8070";

function envOf(known: ClusterFacts, env: readonly object[] = []): readonly Record<string, unknown>[] {
  const containers = [{ name: "web", image: "web:1", ports: [{ containerPort: 80 }], env }];
  const pod = { metadata: { name: "web" }, spec: { containers } };
  const after = patched(pod, inject(pod, defaultSettings, known).patch) as {
    spec: { containers: [{ env: Record<string, unknown>[] }] };
  };
  return after.spec.containers[0].env;
}

const field = (name: string, fieldPath: string): object => ({ name, valueFrom: { fieldRef: { fieldPath } } });

test("a pod is told where the coordinator is and who it is itself, and nothing of it where there is none", () => {
  const told = envOf({ ...facts, coordinator }).filter(({ name }) => /COORDINATOR|POD_/.test(String(name)));
  assert.deepEqual(told, [
    { name: "LAMEDUCK_COORDINATOR", value: coordinator },
    field("LAMEDUCK_POD_NAME", "metadata.name"),
    field("LAMEDUCK_POD_NAMESPACE", "metadata.namespace"),
    field("LAMEDUCK_POD_UID", "metadata.uid"),
  ]);
  assert.ok(envOf(facts).every(({ name }) => !/COORDINATOR|POD_/.test(String(name))));
});

test("what the container says itself stays", () => {
  const own = { name: "LAMEDUCK_COORDINATOR", value: "http://elsewhere:1" };
  const named = envOf({ ...facts, coordinator }, [own]).filter(({ name }) => name === own.name);
  assert.deepEqual(named, [own]);
});
