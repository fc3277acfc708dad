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

const checks: [what: string, command: string, ...arguments_: string[]][] = [
  ["formatting", "prettier", "--check", "--log-level", "warn", "."],
  ["types", "tsc", "-b"],
  ["types of the tests", "tsc", "-p", "tsconfig.test.json"],
  ["types of e2e", "tsc", "-p", "e2e/tsconfig.json"],
  ["docs/errors.md", "node", "scripts/errors-page.ts", "--check"],
  ["docs/cluster.md", "node", "e2e/matrix/table/main.ts", "--check"],
  ["lint", "oxlint", "--type-aware", "--quiet"],
];

if (wanted.length === 0) for (const [what, ...command] of checks) run(what, command);
else run("types", ["tsc", "-b"]);
// One file at a time: several of them measure what load does to servers, on what may be two cores.
run(`${tests.length} test files`, [
  process.execPath,
  "--test",
  "--test-concurrency=1",
  "--test-timeout=300000",
  ...tests,
]);

function run(what: string, [command = "", ...arguments_]: readonly string[]): void {
  console.error(`\n${what}`);
  const { status, signal } = spawnSync(command, arguments_, { stdio: "inherit" });
  if (status === 0) return;
  console.error(`${what}: ${signal ?? `exit ${status}`}`);
  process.exit(1);
}
