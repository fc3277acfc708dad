import { chmodSync, copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { initProgram } from "../test/compiled.ts";
import { Running } from "../test/running.ts";

/** A program that goes through the suites: ours under the names of the originals, or the originals as they are installed. */
export interface Subject {
  readonly title: string;
  /** Has `dumb-init`, `tini` and `python`; for the front of PATH. */
  readonly folder: string;
}

/** What a suite found: one cell of the table, and what failed. */
export interface Outcome {
  readonly text: string;
  readonly failed: readonly string[];
}

/** Process namespaces as containers have them; a user namespace gives them to an ordinary user. */
export const isolation: readonly string[] = [
  "unshare",
  ...(process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"]),
  ..."--pid --fork --mount-proc --kill-child".split(" "),
];

export function ours(folder: string): Subject {
  // Copies: the suites resolve links, and the name would be lost.
  return subject("lameduck-init", join(folder, "ours"), () => initProgram());
}

/** Those that are not installed are left out. */
export function originals(folder: string): Subject {
  const places = (process.env["PATH"] ?? "").split(delimiter);
  return subject("the originals", join(folder, "originals"), (name) =>
    places.map((place) => join(place, name)).find((path) => existsSync(path)),
  );
}

function subject(title: string, folder: string, source: (name: string) => string | undefined): Subject {
  mkdirSync(folder);
  for (const name of ["dumb-init", "tini"]) {
    const from = source(name);
    if (from !== undefined) copyFileSync(from, join(folder, name));
  }
  // Scripts of the suites ask for "python", which not every system calls so.
  writeFileSync(join(folder, "python"), '#!/bin/sh\nexec python3 "$@"\n');
  chmodSync(join(folder, "python"), 0o755);
  return { title, folder };
}

export function environmentOf({ folder }: Subject, more: Record<string, string> = {}): NodeJS.ProcessEnv {
  return {
    ...process.env,
    PATH: `${folder}:${process.env["PATH"]}`,
    PYTHONDONTWRITEBYTECODE: "1",
    ...more,
  };
}

/** Runs a command in a process namespace whose PID 1 reaps. */
export function runReaped(
  command: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<{ code: number; stdout: string; stderr: string }> {
  const [first = "", ...rest] = [...isolation, initProgram(), "--no-hold", "--", ...command];
  return new Running(first, rest, options).ended;
}
