/**
 * `npm test`: formatting, types, lint, then every package's tests. Installs nothing and starts no cluster. Arguments narrow the
 * tests to those whose path contains one of them, and skip the checks: `npm test -- drain`.
 */
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";

const wanted = process.argv.slice(2);
const tests = globSync("packages/*/test/**/*.test.ts")
  .filter((path) => wanted.length === 0 || wanted.some((part) => path.includes(part)))
  .sort();

if (tests.length === 0) {
  console.error(`no test file under packages/*/test has ${wanted.join(" or ")} in its path`);
  process.exit(2);
}

const checks: [what: string, command: string, ...arguments_: string[]][] = [
  ["formatting", "prettier", "--check", "--log-level", "warn", "."],
  ["types", "tsc", "-b"],
  ["types of the tests", "tsc", "-p", "tsconfig.test.json"],
  ["types of e2e", "tsc", "-p", "e2e/tsconfig.json"],
  ["what follows from the table of options", "node", "packages/options/generate/main.ts", "--check"],
  ["docs/errors.md", "node", "scripts/errors-page.ts", "--check"],
  ["docs/reference.md", "node", "scripts/reference-page.ts", "--check"],
  ["docs/cluster.md", "node", "e2e/matrix/table/main.ts", "--check"],
  ["lint", "oxlint", "--type-aware", "--quiet"],
];

if (wanted.length === 0) for (const [what, ...command] of checks) run(what, command);
else run("types", ["tsc", "-b"]);
/** They load servers, and mostly wait: two go side by side, but nothing that computes. */
const loading = /init\/test\/hold-evidence|cli\/test\/(lab|prove)\./;
/** A pod that stands still for 50 ms loses its requests by another race than the one that is asked for. */
const alone = /stage\/test\/causes/;
const parts = Object.groupBy(tests, (path) =>
  loading.test(path) ? "loading" : alone.test(path) ? "alone" : "together",
);
// Most tests wait more than they compute. With three at a time some miss their time-outs on two slow cores.
runTests("side by side", 2, parts.together);
runTests("under load, side by side", 2, parts.loading);
runTests("alone", 1, parts.alone);

function runTests(how: string, concurrency: number, files: readonly string[] = []): void {
  if (files.length === 0) return;
  run(`${files.length} test files, ${how}`, [
    process.execPath,
    "--test",
    `--test-concurrency=${concurrency}`,
    "--test-timeout=300000",
    `--import=${new URL("test-limit.ts", import.meta.url).href}`,
    ...files,
  ]);
}

function run(what: string, [command = "", ...arguments_]: readonly string[]): void {
  console.error(`\n${what}`);
  const { status, signal } = spawnSync(command, arguments_, { stdio: "inherit" });
  if (status === 0) return;
  console.error(`${what}: ${signal ?? `exit ${status}`}`);
  process.exit(1);
}
