import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  audit,
  fixesOf,
  githubReport,
  htmlReport,
  jsonReport,
  junitReport,
  markdownReport,
  sarifReport,
  textReport,
} from "../src/index.ts";
import { remembering as options } from "./options.ts";

const golden = join(import.meta.dirname, "golden");

/** Every report, and the fixes: after them there is nothing left to fix. */
function mustSurvive(text: string): void {
  const result = audit([{ name: "any.yaml", text }], options);
  for (const format of [textReport, jsonReport, junitReport, markdownReport, githubReport])
    assert.ok(format(result));
  assert.ok(htmlReport(result, (id) => id));
  assert.ok(sarifReport(result, "1.2.3", (id) => `https://home.example/${id}`));
  const { audit: after, files } = fixesOf(result, options);
  assert.ok(after.failures.length <= result.failures.length);
  assert.deepEqual(fixesOf(after, options).files, [], files[0]?.after.text);
}

/** FUZZ_MINUTES=10: each property for half of it. */
function runs(usual: number): { numRuns: number; interruptAfterTimeLimit?: number; endOnFailure?: boolean } {
  const minutes = process.env["FUZZ_MINUTES"];
  if (minutes === undefined) return { numRuns: usual };
  return { numRuns: 1e9, interruptAfterTimeLimit: (Number(minutes) * 60_000) / 2, endOnFailure: true };
}

describe("whatever is given", () => {
  test("the audit of any object throws no exception, and gives every format", () => {
    const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.double());
    const keys = fc.constantFrom(
      ..."spec template metadata labels annotations name data envFrom configMapRef valueFrom configMapKeyRef secretKeyRef key prefix shareProcessNamespace proxy.istio.io/config containers initContainers image command args env value ports containerPort lifecycle preStop exec sleep seconds httpGet livenessProbe readinessProbe startupProbe terminationGracePeriodSeconds replicas strategy rollingUpdate maxSurge maxUnavailable selector matchLabels matchExpressions scaleTargetRef rules backend nodeSelector tolerations affinity minAvailable items restartPolicy type clusterIP publishNotReadyAddresses externalTrafficPolicy periodSeconds failureThreshold lameduck.dev/drain".split(
        " ",
      ),
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 6 },
        scalar,
        fc.array(tie("tree"), { maxLength: 3 }),
        fc.dictionary(keys, tie("tree"), { maxKeys: 6 }),
      ),
    }));
    const kind = fc.constantFrom(
      "Pod",
      "Deployment",
      "StatefulSet",
      "DaemonSet",
      "Job",
      "CronJob",
      "Service",
      "Ingress",
      "HorizontalPodAutoscaler",
      "PodDisruptionBudget",
      "Namespace",
      "ConfigMap",
      "ClusterPolicy",
      "HTTPRoute",
      "List",
    );
    const version = fc.constantFrom(
      "v1",
      "apps/v1",
      "batch/v1",
      "networking.k8s.io/v1",
      "policy/v1",
      "kyverno.io/v1",
      "autoscaling/v2",
    );
    const object = fc.record({ kind, apiVersion: version, metadata: tree, spec: tree });
    fc.assert(
      fc.property(fc.array(fc.oneof(object, scalar), { maxLength: 4 }), (objects) => {
        mustSurvive(objects.map((one) => JSON.stringify(one)).join("\n---\n"));
      }),
      runs(1_500),
    );
  });

  test("the audit of damaged manifests throws no exception, and a second fix changes nothing", () => {
    const manifests = globSync("*/{bad,good}*.yaml", { cwd: golden })
      .filter((path) => !path.endsWith(".fixed.yaml"))
      .map((path) => readFileSync(join(golden, path), "utf8").split("\n"));
    const piece = fc.oneof(
      fc.constantFrom(
        ..."~ null 0 -1 1e99 007 0x1f yes on .inf .nan !!binary &a *a <<: {{x}} { } [ ] \" ' | > # --- ... \t \r \u2028 \ud83e\udd86 100% 0% 1m sleep".split(
          " ",
        ),
      ),
      fc.string(),
    );
    const damage = fc.record({
      at: fc.nat(),
      how: fc.constantFrom("cut", "twice", "move", "value", "indent", "piece"),
      piece,
    });
    fc.assert(
      fc.property(fc.constantFrom(...manifests), fc.array(damage, { maxLength: 4 }), (lines, damages) => {
        mustSurvive(damages.reduce(damaged, lines).join("\n"));
      }),
      runs(500),
    );
  });
});

interface Damage {
  readonly at: number;
  readonly how: string;
  readonly piece: string;
}

function damaged(lines: readonly string[], { at, how, piece }: Damage): readonly string[] {
  const index = at % lines.length;
  const line = lines[index] ?? "";
  const column = at % (line.length + 1);
  const instead: Readonly<Record<string, readonly string[]>> = {
    cut: [],
    twice: [line, line],
    move: [lines[(index * 7 + 1) % lines.length] ?? "", line],
    value: [line.replace(/:.*$/, `: ${piece}`)],
    indent: [`  ${line}`],
    piece: [line.slice(0, column) + piece + line.slice(column)],
  };
  return lines.toSpliced(index, 1, ...(instead[how] ?? []));
}
