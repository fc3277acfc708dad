/**
 * `npm test`: formatting, types, lint, then every package's tests. Installs nothing and starts no cluster. Arguments narrow the
 * tests to those whose path contains one of them, and skip the checks: `npm test -- drain`. `--skipped` adds the files in which the
 * last whole run skipped a test, such as for want of a program that has been installed since.
 */
import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, readFileSync } from "node:fs";

/** Where a whole run notes the files in which it has skipped a test, one a line. */
const notes = "node_modules/.cache/lameduck-skipped";

const wanted = process.argv.slice(2).flatMap((part) => (part === "--skipped" ? skippedFiles() : [part]));
const isWhole = process.argv.length === 2;
const tests = globSync("packages/*/test/**/*.test.ts")
  .filter((path) => isWhole || wanted.some((part) => path.includes(part)))
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
  ["tables of senders", "node", "scripts/senders-page.ts", "--check"],
  ["docs/errors.md", "node", "scripts/errors-page.ts", "--check"],
  ["docs/reference.md", "node", "scripts/reference-page.ts", "--check"],
  ["docs/cluster.md", "node", "e2e/matrix/table/main.ts", "--check"],
  ["lint", "oxlint", "--type-aware", "--quiet"],
];

if (isWhole) {
  for (const [what, ...command] of checks) run(what, command);
  mkdirSync(notes, { recursive: true });
} else run("types", ["tsc", "-b"]);
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
    ...(isWhole ? noting(how) : []),
    ...files,
  ]);
}

function noting(how: string): string[] {
  return [
    "--test-reporter=spec",
    "--test-reporter-destination=stdout",
    `--test-reporter=${new URL("skipped.ts", import.meta.url).href}`,
    `--test-reporter-destination=${notes}/${how}`,
  ];
}

function skippedFiles(): string[] {
  const files = globSync(`${notes}/*`).flatMap((path) =>
    readFileSync(path, "utf8").split("\n").filter(Boolean),
  );
  if (files.length > 0) return files;
  console.error("--skipped: no whole run has skipped a test here; run npm test first");
  process.exit(2);
}

function run(what: string, [command = "", ...arguments_]: readonly string[]): void {
  console.error(`\n${what}`);
  const { status, signal } = spawnSync(command, arguments_, { stdio: "inherit" });
  if (status === 0) return;
  console.error(`${what}: ${signal ?? `exit ${status}`}`);
  process.exit(1);
}
