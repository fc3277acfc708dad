import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { run, runProgram } from "./running.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "lameduck-integrations-"));
after(() => rmSync(folder, { recursive: true }));

const { bin } = JSON.parse(readFileSync(join(root, "packages/cli/package.json"), "utf8")) as {
  bin: Record<string, string>;
};

writeFileSync(
  join(folder, "web.yaml"),
  "apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: web }\nspec:\n  template:\n    spec:\n      containers:\n        - name: web\n          image: web:1\n          ports: [{ containerPort: 80 }]\n",
);
// Neither asks the registry for anything, where the clone is built.
for (const name of ["npx", "npm"]) {
  writeFileSync(join(folder, name), `#!/bin/sh\necho "$0 $*" >>'${folder}/asked'\nexit 9\n`);
  chmodSync(join(folder, name), 0o755);
}
const env = {
  ...process.env,
  PATH: `${folder}${delimiter}${process.env["PATH"] ?? ""}`,
  GITHUB_ACTION_PATH: root,
};
const isBuilt = existsSync(join(root, "packages/cli/dist/main.js"));
const skip = isBuilt ? false : "the clone is not built: npm run build";

describe("the GitHub action", { skip }, () => {
  const action = parse(readFileSync(join(root, "action.yml"), "utf8")) as {
    runs: { steps: { run: string }[] };
  };
  const summary = join(folder, "summary.md");
  const output = join(folder, "output");

  function audit(paths: string, args = "", sarif = ""): ReturnType<typeof runProgram> {
    return runProgram("bash", ["-e", "-c", action.runs.steps[0]?.run ?? ""], {
      cwd: folder,
      env: {
        ...env,
        AUDIT_PATHS: paths,
        AUDIT_ARGUMENTS: args,
        AUDIT_SARIF: sarif,
        GITHUB_STEP_SUMMARY: summary,
        GITHUB_OUTPUT: output,
      },
    });
  }

  test("findings as annotations, a summary, SARIF, and the exit code", async () => {
    const { code, out, err } = await audit(
      "web.yaml",
      "--assume=drain=20s\n--min-severity=warning\n",
      "audit.sarif",
    );
    assert.equal(code, 1, err);
    assert.match(out, /^::warning file=web\.yaml,line=8,/m);
    assert.match(readFileSync(summary, "utf8"), /^## lameduck audit/);
    assert.equal(
      (JSON.parse(readFileSync(join(folder, "audit.sarif"), "utf8")) as { version: string }).version,
      "2.1.0",
    );
    assert.match(readFileSync(output, "utf8"), /^exit-code=1$/m);
    assert.ok(!existsSync(join(folder, "asked")), "a package of the registry was run");
  });

  test("nothing in an input is run", async () => {
    const { code, err } = await audit("$(touch run1) `touch run2` ;touch run3", '$(touch run4)"; touch run5');
    assert.equal(code, 2, err);
    for (let number = 1; number <= 5; number++) assert.ok(!existsSync(join(folder, `run${number}`)));
  });
});

test("the pre-commit hook audits the whole folder", { skip }, async () => {
  const [hook] = parse(readFileSync(join(root, ".pre-commit-hooks.yaml"), "utf8")) as [
    { entry: string; language: string; args: string[]; pass_filenames: boolean },
  ];
  assert.equal(hook.pass_filenames, false);
  // pre-commit runs a script from its clone of this repository, in the folder of the user's.
  assert.equal(hook.language, "script");
  const [command = "", ...words] = hook.entry.split(" ");
  const { code, out } = await runProgram(join(root, command), [...words, ...hook.args], { cwd: folder, env });
  assert.equal(code, 1);
  assert.match(out, /^web\.yaml:8:/m);
});

test("kubectl finds the program under its own name", async () => {
  const plugin = join(folder, "kubectl-lameduck");
  symlinkSync(join(root, "packages/cli", bin["kubectl-lameduck"] ?? ""), plugin);
  const { code, err } = await runProgram(process.execPath, [
    plugin,
    "audit",
    "-n",
    "shop",
    "--kubeconfig",
    "/nowhere",
  ]);
  assert.equal(code, 2);
  assert.match(err, /\/nowhere: no such file or directory \[LAMEDUCK_NO_KUBECONFIG\]/);
});

test("the problem matcher of the page reads every finding", async () => {
  const page = readFileSync(join(root, "docs/tools/audit.md"), "utf8");
  const [, task = ""] = /```json\n(\{\n {2}"version": "2\.0\.0"[^]*?)```/.exec(page) ?? [];
  const { tasks } = JSON.parse(task) as { tasks: { problemMatcher: { pattern: { regexp: string } } }[] };
  const matcher = new RegExp(tasks[0]?.problemMatcher.pattern.regexp ?? "");
  const golden = join(root, "packages/audit/test/golden");
  const json = join(folder, "golden.json");
  const { out } = await run(["audit", golden, "--json", json]);
  const found = out
    .split("\n")
    .map((line) => matcher.exec(line)?.slice(1))
    .filter((one) => one !== undefined);
  const { findings } = JSON.parse(readFileSync(json, "utf8")) as {
    findings: { rule: string; message: string; at: { file: string; line: number; column: number } }[];
  };
  assert.ok(findings.length > 100);
  assert.deepEqual(
    found
      .map(([file, line, column, , message, rule]) => [file, line, column, message, rule].join(" "))
      .sort(),
    findings
      .map(({ at: { file, line, column }, message, rule }) => [file, line, column, message, rule].join(" "))
      .sort(),
  );
});
