/**
 * `npm run peers -w packages/init -- PATH...`: runs the suites of dumb-init and tini against our binary under their names, and against
 * the originals where they are installed. PATH is a checkout of one of them, or a folder with checkouts called dumb-init and tini.
 * Nothing is fetched. dumb-init's suite needs pytest, tini's psutil, bitmap and python-prctl.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { withoutCompiler } from "../test/compiled.ts";
import { endAll } from "../test/running.ts";
import { pytestOfDumbInit, zombiesOfDumbInit } from "./dumb-init.ts";
import { isolation, originals, ours, type Outcome, type Subject } from "./subject.ts";
import { innerTestsOfTini, outerTestsOfTini } from "./tini.ts";

interface Suite {
  readonly title: string;
  readonly program: string;
  /** By which a checkout is known. */
  readonly mark: string;
  readonly modules: readonly string[];
  run(checkout: string, subject: Subject): Promise<Outcome>;
}

const suites: Suite[] = [
  {
    title: "dumb-init: its tests",
    program: "dumb-init",
    mark: "tests/proxies_signals_test.py",
    modules: ["pytest"],
    run: pytestOfDumbInit,
  },
  {
    title: "dumb-init: test-zombies",
    program: "dumb-init",
    mark: "tests/test-zombies",
    modules: [],
    run: zombiesOfDumbInit,
  },
  {
    title: "tini: inner tests",
    program: "tini",
    mark: "test/run_inner_tests.py",
    modules: ["psutil", "bitmap", "prctl"],
    run: innerTestsOfTini,
  },
  {
    title: "tini: outer tests",
    program: "tini",
    mark: "test/run_outer_tests.py",
    modules: ["psutil"],
    run: outerTestsOfTini,
  },
];

const paths = process.argv.slice(2).map((path) => resolve(process.env["INIT_CWD"] ?? "", path));
if (paths.length === 0) {
  process.stderr.write(
    "usage: npm run peers -w packages/init -- PATH... (checkouts of dumb-init and tini)\n",
  );
  process.exitCode = 2;
} else await main(paths.filter(isThere));

function isThere(path: string): boolean {
  const there = existsSync(path);
  if (!there) process.stderr.write(`${path} is not there: skipped\n`);
  return there;
}

async function main(places: readonly string[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "lameduck-peers-"));
  try {
    const checkouts = places.flatMap((path) => [path, join(path, "dumb-init"), join(path, "tini")]);
    const found = suites.flatMap((suite) =>
      checkouts.filter((path) => existsSync(join(path, suite.mark))).map((path) => ({ suite, path })),
    );
    if (found.length === 0) return;
    const reason = withoutCompiler || cannotIsolate();
    if (reason !== false) {
      process.stderr.write(`${reason}: skipped\n`);
      return;
    }
    const subjects = [ours(folder), originals(folder)];
    process.stdout.write(
      `| suite | ${subjects.map(({ title }) => title).join(" | ")} |\n| --- | --- | --- |\n`,
    );
    for (const { suite, path } of found) await row(suite, path, subjects);
  } finally {
    endAll();
    rmSync(folder, { recursive: true });
  }
}

async function row(suite: Suite, checkout: string, subjects: readonly Subject[]): Promise<void> {
  const missing = suite.modules.filter((name) => spawnSync("python3", ["-c", `import ${name}`]).status !== 0);
  if (missing.length > 0) {
    process.stderr.write(`${suite.title}: python3 has no ${missing.join(", ")}: skipped\n`);
    return;
  }
  const cells: string[] = [];
  for (const [index, subject] of subjects.entries()) {
    if (!existsSync(join(subject.folder, suite.program))) {
      cells.push("not installed");
      continue;
    }
    const { text, failed } = await suite.run(checkout, subject);
    cells.push(text);
    for (const each of failed) process.stderr.write(`${suite.title}, ${subject.title}: ${each}\n`);
    if (index === 0 && failed.length > 0) process.exitCode = 1;
  }
  process.stdout.write(`| ${suite.title} | ${cells.join(" | ")} |\n`);
}

function cannotIsolate(): string | false {
  const [command, ...rest] = [...isolation, "true"];
  return spawnSync(command, rest).status === 0
    ? false
    : "no process namespaces here (unshare, as root or with user namespaces)";
}
