import type { Container } from "../model/container.ts";
import { commandsOf, isShell, programOf, scriptOf } from "../model/shell.ts";

/** Something between the kubelet's signal and the program that serves. */
export interface PidOne {
  readonly what: string;
  readonly because: string;
  /** `certain`: in every shell. `likely`: in some of those that images have. `unknown`: a script that nobody here has read. */
  readonly certainty: "certain" | "likely" | "unknown";
  /** What to write instead, where that is plain. */
  readonly instead?: string;
}

const packageManagers = new Set(["npm", "npx", "yarn", "pnpm", "yarnpkg"]);

/** @returns undefined where the signal reaches the program, or nothing is known of the command line. */
export function pidOneOf({ argv }: Container): PidOne | undefined {
  if (argv === undefined || argv.length === 0) return undefined;
  const { inner, signalsGroup } = behindInit(argv);
  if (signalsGroup) return undefined;
  const [first] = inner;
  if (
    packageManagers.has(programOf(first)) ||
    (programOf(first) === "node" && /npm-cli|yarn/.test(inner[1] ?? ""))
  )
    return packageManager(programOf(first));
  const script = scriptOf(inner);
  if (script !== undefined) return ofScript(programOf(first), script);
  if (isShell(first))
    return {
      what: `${programOf(first)} ${inner[1] ?? ""}`.trim(),
      because: "whether the script ends with `exec` cannot be seen here",
      certainty: "unknown",
    };
  if (/\.(?:sh|bash)$/.test(first ?? ""))
    return {
      what: programOf(first),
      because: "whether the script ends with `exec` cannot be seen here",
      certainty: "unknown",
    };
  return undefined;
}

/** tini signals its child only, dumb-init and `tini -g` the whole process group. */
function behindInit(argv: readonly string[]): {
  readonly inner: readonly string[];
  readonly signalsGroup: boolean;
} {
  const program = programOf(argv[0]);
  if (!["tini", "dumb-init", "catatonit", "lameduck-init"].includes(program))
    return { inner: argv, signalsGroup: false };
  const end = argv.indexOf("--");
  const at = end === -1 ? argv.findIndex((word, index) => index > 0 && !word.startsWith("-")) : end + 1;
  const options = argv.slice(1, at);
  const signalsGroup =
    program === "dumb-init"
      ? !options.some((one) => /^(?:-c|--single-child)$/.test(one))
      : options.includes("-g");
  return { inner: at < 1 ? [] : argv.slice(at), signalsGroup };
}

function packageManager(name: string): PidOne {
  return {
    what: name,
    because: `${name} starts the script through a shell of its own, which may keep SIGTERM to itself, and may end before the server has`,
    certainty: "likely",
    instead: "the command of the script in package.json, such as [node, server.js]",
  };
}

function ofScript(shell: string, script: string): PidOne | undefined {
  // Its author has thought of it.
  if (/\btrap\b/.test(script) || /(?:^|[\s;&|({])exec\s+[^\s>]/.test(script)) return undefined;
  const { commands, isPlain } = commandsOf(script);
  const last = commands.at(-1) ?? "";
  const what = `${shell} -c`;
  const instead = /^[\w./-]+(?:\s[^|&<>$*`"']*)?$/.test(script)
    ? `[${script.split(/\s+/).join(", ")}]`
    : "exec before the last command";
  if (packageManagers.has(last.split(/\s+/)[0] ?? "")) return packageManager(last.split(/\s+/)[0]!);
  if (/(?:^|[^|])\|(?!\|)/.test(last))
    return {
      what,
      because: "the shell waits for its pipeline, and as PID 1 it has no handler for SIGTERM",
      certainty: "certain",
      instead: "a command without a pipe",
    };
  if (!isPlain || /&\s*$/.test(last))
    return {
      what,
      because: "the shell stays until its last command has ended, and as PID 1 it has no handler for SIGTERM",
      certainty: "likely",
      instead: "exec before the command that serves",
    };
  // bash gives way to its last command, also behind && and ;. dash, the sh of Debian and Ubuntu, does not (measured: 5.2.15 and 0.5.12).
  if (shell === "bash") return undefined;
  return {
    what,
    because:
      "the sh of Debian and Ubuntu (dash) stays PID 1 and has no handler for SIGTERM; bash would give way",
    certainty: "likely",
    instead,
  };
}
