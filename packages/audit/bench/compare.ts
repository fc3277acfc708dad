/**
 * Which termination faults kube-score finds in the fixtures of the rules, beside the documented rules of kube-linter and Polaris:
 * `npm run compare -w packages/audit [-- [KUBE_SCORE] [--write]]`. A check counts where it speaks of the same fault, and says of a failing
 * fixture what it does not say of the passing ones of the same rule: then it tells them apart.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { rules } from "@lameduck/audit";
import { kubeScoreAt } from "./kube-score.ts";
import { markdownTable, pageWithin } from "../../../scripts/format-page.ts";

/** Of kube-linter 0.8 (docs/generated/checks.md) and Polaris 10 (docs/checks/reliability.md), on unless said otherwise. */
const documented: Readonly<Record<string, readonly [kubeLinter: string, polaris: string]>> = {
  "no-readiness-probe": ["no-readiness-probe (off)", "readinessProbeMissing"],
  "disruption-budget": [
    "pdb-max-unavailable, pdb-min-available",
    "missingPodDisruptionBudget, pdbDisruptionsIsZero, pdbMinAvailableGreaterThanHPAMinReplicas",
  ],
  "no-surge-room": [
    "no-rolling-update-strategy (off), minimum-three-replicas (off)",
    "deploymentMissingReplicas",
  ],
};

/** The checks of kube-score that speak of probes, replacement and disruption, by the rule that asks the same. */
const ofKubeScore: Readonly<Record<string, readonly string[]>> = {
  "no-readiness-probe": ["pod-probes"],
  "liveness-before-readiness": ["pod-probes"],
  "probes-ask-the-same": ["pod-probes-identical", "pod-probes"],
  "no-surge-room": ["deployment-strategy", "deployment-replicas"],
  "disruption-budget": [
    "deployment-has-poddisruptionbudget",
    "statefulset-has-poddisruptionbudget",
    "poddisruptionbudget-has-policy",
    "deployment-replicas",
  ],
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { write: { type: "boolean", default: false } },
});
const kubeScore = kubeScoreAt(positionals[0]);

const golden = fileURLToPath(new URL("../test/golden", import.meta.url));
const optional = execFileSync(kubeScore, ["list"], { encoding: "utf8" })
  .split("\n")
  .filter((line) => line.endsWith(",optional"))
  .flatMap((line) => ["--enable-optional-test", line.split(",")[0] ?? ""]);

const rows = rules.map(({ id }) => {
  const reported = (pattern: string): Set<string>[] =>
    globSync(join(golden, id, pattern))
      .filter((file) => !basename(file).includes(".fixed."))
      .map((file) => complaintsOf(file, ofKubeScore[id] ?? []));
  const known = new Set(reported("good*.yaml").flatMap((checks) => [...checks]));
  const all = reported("bad*.yaml");
  const found = all.map((checks) => [...checks].filter((check) => !known.has(check)));
  const alike = namesOf(all.flatMap((checks) => [...checks]));
  const count = found.filter((checks) => checks.length > 0).length;
  const [kubeLinter, polaris] = documented[id] ?? ["-", "-"];
  const seen =
    count > 0 ? `${count}: ${namesOf(found.flat())}` : alike === "" ? "-" : `all, and passing ones: ${alike}`;
  return [id, String(found.length), seen, kubeLinter, polaris];
});

const version = execFileSync(kubeScore, ["version"], { encoding: "utf8" }).trim();
const text = markdownTable(
  ["Rule", "Failing fixtures", "kube-score finds", "kube-linter has", "Polaris has"],
  rows,
  ["---", "--:", "---", "---", "---"],
);
console.log(`${version}\n\n${text}`);
if (values.write) {
  const page = fileURLToPath(new URL("../../../docs/evidence/comparison.md", import.meta.url));
  writeFileSync(page, await pageWithin(readFileSync(page, "utf8"), "audits", text));
}

function namesOf(complaints: readonly string[]): string {
  return [...new Set(complaints.map((one) => one.split(":")[0]))].sort().join(", ");
}

/** "check: what it says" of those that did not give the best grade. */
function complaintsOf(file: string, asked: readonly string[]): Set<string> {
  const { stdout } = spawnSync(kubeScore ?? "", ["score", "-o", "json", ...optional, file], {
    encoding: "utf8",
  });
  const objects = JSON.parse(stdout) as {
    checks: {
      check: { id: string };
      grade: number;
      skipped: boolean;
      comments: { summary: string }[] | null;
    }[];
  }[];
  return new Set(
    objects.flatMap(({ checks }) =>
      checks
        .filter(({ check, grade, skipped }) => asked.includes(check.id) && !skipped && grade < 10)
        .flatMap(({ check, comments }) => (comments ?? []).map(({ summary }) => `${check.id}: ${summary}`)),
    ),
  );
}
