/**
 * `npm test`: formatting, types, lint, then every package's tests. Installs nothing and starts no cluster. Arguments narrow the
 * tests to those whose path contains one of them, and skip the checks: `npm test -- drain`. `--skipped` adds the files in which the
 * last whole run skipped a test, such as for want of a program that has been installed since. `--not=PART` leaves files out.
 * `npm test -w packages/drain` is `npm test -- packages/drain/`.
 */
import { spawn } from "node:child_process";
import { globSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
process.chdir(root);
const cache = join(root, "node_modules/.cache");
/** Where a whole run notes the files in which it has skipped a test, one a line. */
const notes = join(cache, "lameduck-skipped");
/** Tests start a thousand processes, most of them from the same sources: each source is stripped of its types and compiled once. */
process.env["NODE_COMPILE_CACHE"] = join(cache, "lameduck-compiled");

const words = process.argv.slice(2);
const isWhole = words.length === 0;
const unwanted = words.flatMap((word) => /^--not=(.+)/.exec(word)?.[1] ?? []);
const wanted = words
  .filter((word) => !word.startsWith("--not="))
  .flatMap((part) => (part === "--skipped" ? skippedFiles() : [part]));
const tests = globSync("packages/*/test/**/*.test.ts")
  .filter((path) => isWhole || wanted.some((part) => path.includes(part)))
  .filter((path) => !unwanted.some((part) => path.includes(part)))
  .sort();

if (tests.length === 0) {
  console.error(`no test file under packages/*/test has ${wanted.join(" or ")} in its path`);
  process.exit(2);
}

type Step = readonly [what: string, command: string, ...arguments_: string[]];

interface Manner {
  /** What it prints comes in one piece at its end, as something else prints meanwhile. */
  readonly isToldLater?: boolean;
  readonly niceness?: number | undefined;
}

const types: Step = ["types", "tsc", "-b"];
/** It goes beside the other checks. */
const lint: Step = ["lint", "oxlint", "--type-aware", "--quiet"];
/** Several checkers would each find out the same types, and the lint takes the other core. */
const one = ["--checkers", "1"];
const checks: readonly Step[] = [
  ["types of the tests", "tsc", "-p", "tsconfig.test.json", ...one],
  ["types of e2e", "tsc", "-p", "e2e/tsconfig.json", ...one],
  ["what follows from the table of options", "node", "packages/options/generate/main.ts", "--check"],
  ["tables of senders", "node", "scripts/senders-page.ts", "--check"],
  ["docs/reference/errors.md", "node", "scripts/errors-page.ts", "--check"],
  ["docs/reference/options.md", "node", "scripts/reference-page.ts", "--check"],
  ["docs/pictures", "node", "scripts/pictures.ts", "--check"],
  ["docs/evidence/results.md", "node", "e2e/matrix/table/main.ts", "--check"],
];

interface Group {
  readonly how: string;
  readonly files: RegExp;
  readonly flags: readonly string[];
  readonly niceness?: number;
}

/** They load servers, and mostly wait: two go side by side, but nothing that computes. */
const loading: Group = {
  how: "under load, side by side",
  files: /init\/test\/hold-evidence|cli\/test\/(lab|prove|server-images)\./,
  flags: ["--test-concurrency=2"],
};
/** A pod that stands still for 50 ms loses its requests by another race than the one that is asked for. A library that does holds for longer. */
const alone: Group = {
  how: "alone",
  files: /stage\/test\/causes|simulator\/test\/library/,
  flags: ["--test-concurrency=1"],
};
/** They wait for holds, time-outs and other processes, and leave half of a core to others. */
const waiting: Group = {
  how: "that wait, two at a time",
  files: /^packages\/(init|node|rollout|stage|watcher)\/|cli\/test\/(live-ui|rollout)/,
  flags: ["--test-concurrency=2"],
};
/** They compute for half of their time, and wait for the other half. */
const mixed: Group = {
  how: "that do both, one at a time beside them",
  files: /^packages\/webhook\//,
  flags: ["--test-concurrency=1"],
};
/** They depend on no clock and no process: all run in one process, in what processor time the others leave. */
const pure: Group = {
  how: "in one process beside them",
  files: /^packages\/(accounting|audit|cluster|drain|inject|manifests|options|protocol|senders|simulator)\//,
  flags: ["--test-isolation=none"],
  niceness: os.constants.priority.PRIORITY_LOW,
};
const computing: Group = {
  how: "that compute, one at a time beside them",
  files: /./,
  flags: ["--test-concurrency=1"],
};
/** A file is in the first group that has it. */
const groups = [loading, alone, waiting, mixed, pure, computing];
const filesOf = Map.groupBy(tests, (path) => groups.find(({ files }) => files.test(path)));
/** The groups of one turn run beside each other. */
const turns = [[waiting, computing, mixed, pure], [loading], [alone]];

if (isWhole) {
  await all([inOrder([["formatting", "oxfmt", "--check"], types])]);
  await all([inOrder(checks), run(lint)]);
  rmSync(notes, { recursive: true, force: true });
  mkdirSync(notes, { recursive: true });
} else await all([run(types)]);
for (const turn of turns) {
  const present = turn.filter((group) => filesOf.has(group));
  await all(present.map((group, place) => runTests(group, place > 0)));
}

async function runTests(group: Group, isToldLater: boolean): Promise<boolean> {
  const { how, flags, niceness } = group;
  const files = filesOf.get(group) ?? [];
  const step: Step = [
    `${files.length} test files ${how}`,
    process.execPath,
    "--test",
    ...flags,
    "--test-timeout=300000",
    `--import=${new URL("test-limit.ts", import.meta.url).href}`,
    ...(isWhole ? noting(how) : []),
    ...files,
  ];
  return run(step, { isToldLater, niceness });
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

async function all(steps: readonly Promise<boolean>[]): Promise<void> {
  if ((await Promise.all(steps)).includes(false)) process.exit(1);
}

async function inOrder(steps: readonly Step[]): Promise<boolean> {
  for (const step of steps) if (!(await run(step))) return false;
  return true;
}

function run([what, command, ...arguments_]: Step, manner: Manner = {}): Promise<boolean> {
  const { isToldLater = false, niceness } = manner;
  console.error(`\n${what}`);
  return new Promise((resolve, reject) => {
    const child = spawn(command, arguments_, {
      stdio: isToldLater ? ["inherit", "pipe", "pipe"] : "inherit",
    });
    if (niceness !== undefined && child.pid !== undefined) os.setPriority(child.pid, niceness);
    const output: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (bytes: Buffer) => output.push(bytes));
    child.on("error", reject).on("close", (code, signal) => {
      if (isToldLater) process.stdout.write(`\n${what}\n${Buffer.concat(output).toString()}`);
      if (code !== 0) console.error(`${what}: ${signal ?? `exit ${code}`}`);
      resolve(code === 0);
    });
  });
}
