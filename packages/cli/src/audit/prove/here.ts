import { readFileSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { findCommand } from "@lameduck/stage";

/** Whether this machine has the program of a command line, and the files that it names. */
export function isHere(argv: readonly string[], folder = process.cwd()): boolean {
  const [program, ...words] = argv;
  if (program === undefined || !isProgram(program, folder)) return false;
  if (/^(?:npm|yarn|pnpm)$/.test(basename(program))) return hasScript(words, folder);
  const script = /^(?:ba|da)?sh$/.test(basename(program)) && words[0] === "-c" ? words[1] : undefined;
  return script === undefined ? words.every((word) => isThere(word, folder)) : runsHere(script, folder);
}

/** Each command of the script is a program of this machine, or one that the shell has itself. */
function runsHere(script: string, folder: string): boolean {
  const commands = script.split(/[;&|\n]+/).map((one) =>
    one
      .trim()
      .replace(/^exec\s+/, "")
      .split(/\s+/),
  );
  return commands.every(
    ([program = "", ...words]) =>
      (/^$|^(?:cd|echo|export|set|sleep|trap|wait|true)$/.test(program) || isProgram(program, folder)) &&
      words.every((word) => isThere(word, folder)),
  );
}

function hasScript([verb = "start", name = verb]: readonly string[], folder: string): boolean {
  try {
    const { scripts = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      scripts?: Record<string, string>;
    };
    return (verb === "run" ? name : verb) in scripts;
  } catch {
    return false;
  }
}

function isProgram(program: string, folder: string): boolean {
  return findCommand(program, process.env["PATH"] ?? "", folder) !== undefined;
}

/** Options and expressions may be anything; a path, or the name of a script, has to be there. */
function isThere(word: string, folder: string): boolean {
  const isFile =
    /^(?:\/|\.{1,2}\/)[\w./-]+$/.test(word) ||
    /^[\w./-]+\.(?:[cm]?[jt]s|py|rb|sh|php|jar|pl|conf|cfg|ini|ya?ml|json)$/.test(word);
  return !isFile || statSync(resolve(folder, word), { throwIfNoEntry: false }) !== undefined;
}
