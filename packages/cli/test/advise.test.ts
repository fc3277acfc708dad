import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { run } from "./running.ts";

const folder = mkdtempSync(join(tmpdir(), "lameduck-advise-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const pod = "{ spec: { containers: [{ name: web, image: web, ports: [{ containerPort: 80 }] }] } }";
const workload = (kind: string, name: string, spec = ""): string =>
  `apiVersion: ${kind === "Job" ? "batch/v1" : kind === "Rollout" ? "argoproj.io/v1alpha1" : "apps/v1"}\nkind: ${kind}\nmetadata: { name: ${name} }\nspec: { ${spec} template: ${pod} }\n`;

test("simulate -f takes all workloads of files, with file and line, and names those that no rollout replaces", async () => {
  const path = join(folder, "all.yaml");
  const canary = "strategy: { canary: { maxSurge: 2 } },";
  const scaler =
    "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: { name: a }\nspec: { minReplicas: 4, scaleTargetRef: { kind: Deployment, name: web } }\n";
  const all = [
    workload("Deployment", "web"),
    workload("Job", "once"),
    scaler,
    workload("Rollout", "canary", canary),
  ];
  writeFileSync(path, all.join("---\n"));
  const few = ["--terminations", "4", "--rps", "20"];
  const { code, out, err } = await run(["simulate", "-f", path, ...few]);
  assert.equal(code, 0, err);
  assert.equal(err, `${path}:6:1: Job once: no rollout replaces its pods\n`);
  assert.deepEqual(
    out.split("\n").filter((line) => line.startsWith(folder)),
    [`${path}:1:1: Deployment web`, `${path}:16:1: Rollout canary`],
  );
  const json = await run(["simulate", "-f", path, ...few, "--json", "-"]);
  const advices = json.out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { scenario: { replicas: number }; workload: { name: string } });
  assert.deepEqual(
    advices.map(({ scenario, workload: { name } }) => [name, scenario.replicas]),
    [
      ["Deployment web", 4],
      ["Rollout canary", 1],
    ],
  );
});

test("simulate -f of files without such a workload is a mistake", async () => {
  const path = join(folder, "job.yaml");
  writeFileSync(path, workload("Job", "once"));
  const { code, err } = await run(["simulate", "-f", path]);
  assert.equal(code, 2);
  assert.match(err, /--file: has no workload that a rollout replaces/);
  writeFileSync(path, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{ x }}\n");
  const template = await run(["simulate", "-f", path]);
  assert.equal(template.code, 2);
  assert.match(template.err, /LAMEDUCK_MANIFEST_TEMPLATE/);
});
