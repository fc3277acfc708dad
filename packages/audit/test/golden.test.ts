import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, test } from "node:test";
import { applyEdits } from "@lameduck/manifests";
import {
  audit,
  fixesOf,
  rules,
  severities,
  textReport,
  withHarmlessFixes,
  type Audit,
} from "../src/index.ts";
import { remembering as options } from "./options.ts";

/**
 * For each rule a folder: manifests whose names begin with `bad` have findings of the rule, those that begin with `good` have none.
 * What the rule says of them is in NAME.txt, what `--fix` makes of them in NAME.fixed.yaml. UPDATE_GOLDEN=1 writes both.
 */
const folder = join(import.meta.dirname, "golden");
const update = process.env["UPDATE_GOLDEN"] === "1";

function compare(file: string, actual: string): void {
  if (update) writeFileSync(file, actual);
  const expected = existsSync(file) ? readFileSync(file, "utf8") : undefined;
  assert.equal(actual, expected, `${file}: UPDATE_GOLDEN=1 writes it anew`);
}

test("every rule has a manifest that fails and one that passes, and every folder a rule", () => {
  const folders = globSync("*", { cwd: folder }).sort();
  assert.deepEqual(folders, rules.map(({ id }) => id).sort());
  for (const id of folders)
    for (const kind of ["bad", "good"])
      assert.ok(globSync(`${id}/${kind}*.yaml`, { cwd: folder }).length > 0, `${id} has no ${kind}*.yaml`);
});

for (const rule of rules) {
  const { id } = rule;
  describe(id, () => {
    for (const path of globSync(`${id}/*.yaml`, { cwd: folder }).sort()) {
      if (path.endsWith(".fixed.yaml")) continue;
      const name = basename(path);
      test(`the rule ${id} finds and fixes in ${name} what is recorded`, () => {
        const text = readFileSync(join(folder, path), "utf8");
        const result = audit([{ name, text }], { ...options, rules: [rule] });
        assert.deepEqual(result.failures, []);
        const own = result.findings;
        assert.equal(own.length > 0, name.startsWith("bad"), textReport(result));
        if (own.length === 0) return;
        compare(join(folder, path.replace(/\.yaml$/, ".txt")), textReport(result));
        if (!own.some(({ fix }) => fix)) return;
        const plan = fixesOf(result, { ...options, rules: [rule] });
        const after = plan.files[0]?.after.text ?? text;
        compare(join(folder, path.replace(/\.yaml$/, ".fixed.yaml")), after);
        const again = audit([{ name, text: after }], { ...options, rules: [rule] });
        assert.deepEqual(
          fixesOf(again, { ...options, rules: [rule] }).files,
          [],
          "a second fix changes nothing",
        );
      });
    }
  });
}

test("the fix sets a stop signal in the pod where the cluster takes one", () => {
  const name = "term-not-graceful/bad-haproxy.yaml";
  const file = { name, text: readFileSync(join(folder, name), "utf8") };
  const of = (kubernetes: number) => {
    const own = { ...options, kubernetes, rules: rules.filter(({ id }) => id === "term-not-graceful") };
    const plan = fixesOf(audit([file], own), own);
    return { findings: plan.audit.findings.length, text: plan.files[0]?.after.text ?? "" };
  };
  assert.match(of(37).text, /stopSignal: SIGUSR1/);
  assert.match(of(37).text, /os:\s+name: linux|os: \{ name: linux \}/);
  assert.equal(of(37).findings, 0);
  assert.equal(of(36).text, "");
});

/** Of each rule and container how many findings are as severe as each severity, or more. */
function counts(findings: Audit["findings"]): Map<string, number> {
  const all = new Map<string, number>();
  for (const { rule, container, object, severity } of findings)
    for (const one of severities.slice(severities.indexOf(severity))) {
      const key = [object.kind, object.name, rule, container, one].join(" ");
      all.set(key, (all.get(key) ?? 0) + 1);
    }
  return all;
}

function nothingNew(before: Audit, after: Audit, what: string): void {
  const known = counts(before.findings);
  for (const [key, count] of counts(after.findings))
    assert.ok(count <= (known.get(key) ?? 0), `${what}: a fix causes ${key}`);
}

test("the fixes cause no finding, all together and each that is offered alone, and a second run changes nothing", () => {
  const paths = globSync(["*/{bad,good}*.yaml", "../scenarios/*.yaml"], { cwd: folder });
  for (const path of paths.filter((one) => !one.endsWith(".fixed.yaml"))) {
    const file = { name: path, text: readFileSync(join(folder, path), "utf8") };
    const first = audit([file], options);
    const plan = fixesOf(first, options);
    nothingNew(first, plan.audit, path);
    assert.deepEqual(fixesOf(plan.audit, options).files, [], path);
    for (const { fix, rule } of withHarmlessFixes(first, options).findings) {
      const text = fix && applyEdits(file.text, fix.edits);
      if (text !== undefined) nothingNew(first, audit([{ ...file, text }], options), `${path}: ${rule}`);
    }
  }
});

test("a fix that causes another finding is not offered", () => {
  // The pod of a spot node has 25 s: a longer grace period is cut.
  const name = "no-lame-duck/bad-two-containers.yaml";
  const text = readFileSync(join(folder, name), "utf8").replace(
    "      containers:",
    '      terminationGracePeriodSeconds: 20\n      nodeSelector: { cloud.google.com/gke-spot: "true" }\n      containers:',
  );
  const first = audit([{ name, text }], options);
  const fixes = (findings: Audit["findings"]): string[] =>
    findings.flatMap(({ fix, rule }) => (fix ? [rule] : []));
  assert.deepEqual(fixes(first.findings), ["no-lame-duck", "no-lame-duck"]);
  assert.deepEqual(fixes(withHarmlessFixes(first, options).findings), []);
  assert.deepEqual(fixesOf(first, options).files, []);
});

test("the same workload in two files, and twice in one file, is fixed in each copy at once", () => {
  const name = "prestop-exceeds-grace/bad-exec.yaml";
  const text = readFileSync(join(folder, name), "utf8");
  const files = [
    { name: "a.yaml", text },
    { name: "b.yaml", text: `${text}---\n${text}` },
  ];
  const plan = fixesOf(audit(files, options), options);
  const errors = plan.audit.findings.filter(({ severity }) => severity === "error");
  assert.deepEqual([plan.files.length, errors.length], [2, 0]);
  assert.deepEqual(fixesOf(plan.audit, options).files, []);
});
