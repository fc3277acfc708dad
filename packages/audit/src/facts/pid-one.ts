import type { Container } from "../model/container.ts";
import { commandsOf, isShell, plainCommand, programOf, scriptOf } from "../model/shell.ts";

/** Something between the kubelet's signal and the program that serves. */
export interface PidOne {
  readonly what: string;
  readonly because: string;
  /** `certain`: in every shell. `likely`: in some of those that images have. `unknown`: a script that nobody here has read. */
  readonly certainty: "certain" | "likely" | "unknown";
  /** What to write instead, where that is plain. */
  readonly instead?: string;
  /** The init that is PID 1 and signals only this. */
  readonly behind?: string;
}

const packageManagers = new Set(["npm", "npx", "yarn", "pnpm", "yarnpkg"]);

/** @returns undefined where the signal reaches the program, or nothing is known of the command line. */
export function pidOneOf({ argv }: Pick<Container, "argv">): PidOne | undefined {
  return argv === undefined ? undefined : between(argv);
}

function between(argv: readonly string[]): PidOne | undefined {
  const [first] = argv;
  const program = programOf(first);
  if (program === "env") return between(behindEnv(argv));
  if (inits.includes(program)) return behindInit(argv);
  if (packageManagers.has(program) || (program === "node" && /npm-cli|yarn/.test(argv[1] ?? "")))
    return packageManager(program);
  const script = scriptOf(argv);
  if (script !== undefined) return ofScript(program, script);
  if (!isShell(first) && !/\.(?:sh|bash)$/.test(first ?? "")) return undefined;
  return {
    what: isShell(first) ? `${program} ${argv[1] ?? ""}`.trim() : program,
    because: "whether the script ends with `exec` cannot be seen here",
    certainty: "unknown",
  };
}

/** `env A=b -u C PROGRAM` is replaced by the program. */
function behindEnv(argv: readonly string[]): readonly string[] {
  const at = argv.findIndex(
    (word, index) => index > 0 && !/^-|=/.test(word) && !/^(?:-u|-C|--unset|--chdir)$/.test(argv[index - 1]!),
  );
  return at === -1 ? [] : argv.slice(at);
}

const inits = ["tini", "dumb-init", "catatonit", "lameduck-init"];

/** tini signals its child only, dumb-init and `tini -g` the whole process group. */
function behindInit(argv: readonly string[]): PidOne | undefined {
  const program = programOf(argv[0]);
  const end = argv.indexOf("--");
  const at = end === -1 ? argv.findIndex((word, index) => index > 0 && !word.startsWith("-")) : end + 1;
  const options = argv.slice(1, at);
  const signalsGroup =
    program === "dumb-init"
      ? !options.some((one) => /^(?:-c|--single-child)$/.test(one))
      : options.includes("-g");
  const inner = signalsGroup || at < 1 ? undefined : between(argv.slice(at));
  if (inner === undefined) return undefined;
  return {
    ...inner,
    certainty: inner.certainty === "unknown" ? "unknown" : "likely",
    because:
      inner.certainty === "unknown"
        ? inner.because
        : `${program} signals its child only: that ends, and the server is killed with it`,
    instead: program === "dumb-init" ? "dumb-init without --single-child" : `${program} -g`,
    behind: program,
  };
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
  if (/\btrap\b/.test(script)) return undefined;
  const started = /^\s*exec\s+([^]*)$/.exec(commandsOf(script).commands.at(-1) ?? "")?.[1];
  if (started !== undefined) return between(plainCommand(started) ?? []);
  if (/(?:^|[\s;&|({])exec\s+[^\s>]/.test(script)) return undefined;
  const { commands, isPlain } = commandsOf(script);
  const last = commands.at(-1) ?? "";
  const what = `${shell} -c`;
  const words = plainCommand(script);
  const instead = words?.every((word) => /^[\w./=-]+$/.test(word))
    ? `[${words.join(", ")}]`
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
