import { readScript } from "./read.ts";
import { argumentsOf, noVariables, scopeOf, unknown } from "./scope.ts";
import type { Command } from "./syntax.ts";

/** By the rules of its family a shell stays, or is replaced by its last command. */
export type Shell = "bash" | "ash" | "dash" | "zsh" | "ksh" | "sh";

const shells: Readonly<Record<string, Shell | undefined>> = {
  sh: "sh",
  bash: "bash",
  ash: "ash",
  dash: "dash",
  zsh: "zsh",
  ksh: "ksh",
  mksh: "ksh",
  ksh93: "ksh",
};

/** What a shell has itself, or reads as its own syntax: `exec` cannot start it. */
const ofShells = new Set(
  ". : ! [ [[ (( ( { source eval exec command builtin cd set export unset alias time coproc exit return test true false trap wait read umask ulimit shift local declare typeset readonly let shopt pushd popd hash jobs getopts".split(
    " ",
  ),
);

/** Last part of a path; empty where that cannot be known. */
export function programOf(word: string | undefined): string {
  const name = word?.split("/").at(-1) ?? "";
  return name.includes(unknown) ? "" : name;
}

export function isBuiltin(program: string): boolean {
  return ofShells.has(program);
}

/** Whether it is a test, whose outcome the input does not say. */
export function isQuestion(command: Command | undefined): boolean {
  if (command?.kind === "test") return true;
  const [piece] = (command?.kind === "simple" ? command.words[0] : undefined) ?? [];
  return piece?.kind === "text" && (piece.text === "[" || piece.text === "test");
}

/** The text of a shell script that is a file; undefined where it is not known, and as a program also where it cannot be executed. */
export type Scripts = (path: string, isProgram: boolean) => string | undefined;

export const noScripts: Scripts = () => undefined;

/** `sh -c SCRIPT`, `sh FILE` and their like, taken apart. */
interface ShellCommand {
  readonly shell: Shell;
  /** As it was written, such as "bash" or "busybox sh". */
  readonly name: string;
  /** Undefined where the standard input, or a file that is not known, is the script. */
  readonly script: string | undefined;
  readonly isFile: boolean;
  /** `$0` and what follows it: the file and its arguments. */
  readonly rest: readonly string[];
}

/** @returns undefined where the program is neither a shell nor a known script of one. */
export function shellCommandOf(
  argv: readonly string[],
  scripts: Scripts = noScripts,
): ShellCommand | undefined {
  const isApplet = /^(?:busybox|toybox)(?:\.static)?$/.test(programOf(argv[0]));
  const words = isApplet ? argv.slice(1) : argv;
  const program = programOf(words[0]);
  const family = Object.hasOwn(shells, program) ? shells[program] : undefined;
  if (family === undefined) {
    const text = scripts(argv[0] ?? "", true);
    const interpreter = text === undefined ? undefined : interpreterOf(text);
    return interpreter && shellCommandOf([...interpreter, ...argv], scripts);
  }
  const shell = isApplet && family === "sh" ? "ash" : family;
  const name = isApplet ? `${programOf(argv[0])} ${program}` : program;
  let isScript = false;
  let at = 1;
  for (; at < words.length; at += 1) {
    const word = words[at]!;
    if (word === "--" || word === "-") {
      at += 1;
      break;
    }
    if (!/^[-+]/.test(word)) break;
    if (/^-[A-Za-z]*c[A-Za-z]*$/.test(word)) isScript = true;
    // `-o pipefail` and `-O extglob` take a word, as do these two of bash.
    if (/^(?:[-+][A-Za-z]*[oO]|--(?:rcfile|init-file))$/.test(word)) at += 1;
  }
  const rest = words.slice(at);
  if (isScript) return { shell, name, script: rest[0], isFile: false, rest: rest.slice(1) };
  return { shell, name, script: scripts(rest[0] ?? "", false), isFile: true, rest };
}

/** Whether no other program than a shell is named as its interpreter. */
export function isForShell(text: string): boolean {
  const interpreter = interpreterOf(text);
  return interpreter === undefined || shellCommandOf(interpreter) !== undefined;
}

/** What its first line names, with its arguments; undefined where that names none. */
function interpreterOf(text: string): string[] | undefined {
  const [, program, option = ""] = /^#![ \t]*(\S+)[ \t]*([^\n]*)/.exec(text) ?? [];
  if (program === undefined) return undefined;
  if (programOf(program) === "env") return option.replace(/^-S\s*/, "").split(/\s+/);
  return option === "" ? [program] : [program, option];
}

/** The script of `sh -c SCRIPT` and its like; undefined for anything else. */
export function scriptOf(argv: readonly string[]): string | undefined {
  return shellCommandOf(argv)?.script;
}

/** The words of a script that is one plain command of a program; undefined for anything that only a shell understands. */
export function plainCommand(script: string): readonly string[] | undefined {
  const { list, isWhole } = readScript(script);
  const [chain, ...more] = list;
  const [pipeline, ...joined] = chain?.pipelines ?? [];
  const [command, ...piped] = pipeline?.commands ?? [];
  if (!isWhole || more.length + joined.length + piped.length > 0 || pipeline?.isPrefixed) return undefined;
  if (command?.kind !== "simple" || command.isRedirected || command.assignments.length > 0) return undefined;
  if (chain?.isBackground || /[;#\\*?[\]~]/.test(script) || /[{}]/.test(script)) return undefined;
  if (script.trim().includes("\n")) return undefined;
  const words = argumentsOf(command, scopeOf({ ...noVariables, isPartial: true }));
  return words.some((word) => word.includes(unknown)) || isBuiltin(words[0] ?? "") ? undefined : words;
}

/** Why a command cannot do what was meant, where that is certain. */
export interface Failure {
  readonly because: string;
  readonly remedy: string;
}

export function whyFails(argv: readonly string[], scripts: Scripts = noScripts): Failure | undefined {
  const [program = ""] = argv;
  if (scripts(program, true) === undefined && scripts(program, false) !== undefined)
    return {
      because: `\`${program}\` may not be executed with its mode in the volume`,
      remedy: `give the volume of the script \`defaultMode: 0755\`, or have a shell read it: [sh, ${argv.join(", ")}]`,
    };
  const remedy = "write each word as an item of its own, and a script as one item";
  if (/\s/.test(program.trim()))
    return { because: `there is no program \`${program}\`: each word is an item of its own`, remedy };
  const { script, rest = [] } = shellCommandOf(argv) ?? {};
  if (script !== undefined && /^(?:\S*\/)?sleep$/.test(script.trim()) && rest.length > 0)
    return {
      because: `the shell runs \`sleep\` without \`${rest.join(" ")}\`: the script is one item, "sleep ${rest.join(" ")}"`,
      remedy,
    };
  return undefined;
}
