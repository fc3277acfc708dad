import { isBuiltin, isQuestion, programOf, type Shell } from "./shell/commands.ts";
import { readScript } from "./shell/read.ts";
import {
  argumentsOf,
  assign,
  scopeOf,
  noVariables,
  unknown,
  type Scope,
  type Variables,
} from "./shell/scope.ts";
import type { Chain, Command, List, Pipeline, Script, Simple } from "./shell/syntax.ts";
import { withoutShell, type PidOne, type Served } from "./served.ts";

interface Options {
  /** The shell as it is called, such as `sh -c`. */
  readonly what: string;
  readonly shell: Shell;
  readonly script: string;
  /** Not of `-c`. */
  readonly isFile?: boolean;
  readonly parameters: readonly string[];
  readonly variables?: Variables;
  readonly isPidShared?: boolean;
  /** What a command line serves. */
  readonly served: (argv: readonly string[]) => Served;
}

interface Execs {
  readonly found: readonly Served[];
  /** Every way through ends there. */
  readonly isSure: boolean;
}

/** An `eval` that runs itself again, by a variable, never ends. */
const mostEvals = 12;
const noExec: Execs = { found: [], isSure: false };
/** Over at once, or of the shell itself: no server. */
const small = new Set(
  "echo printf sleep date touch rm mkdir kill pkill killall chmod chown ls cp mv ln".split(" "),
);
const trapWaits = "the shell runs its trap only when the command in the foreground has ended";
/** They end the server, and some of them are over only when it has ended. */
const stops = new Set("kill pkill killall nginx apachectl httpd".split(" "));
const stopsAndWaits = new Set(["pg_ctl", "supervisorctl"]);
/** They wait, while something else serves. */
const idle = new Set(["wait", "tail", "sleep", "cat", "read"]);

/** A shell runs a script: what serves at its end, and whether SIGTERM reaches it. */
export class ScriptRun {
  readonly #options: Options;
  #scope: Scope;
  readonly #script: Script;
  readonly #functions = new Map<string, Command>();
  readonly #running = new Set<string>();
  /** What a trap does at SIGTERM. */
  #trap: string | undefined;
  /** What a trap does at the end of the shell: bash runs it at SIGTERM, also as PID 1, and ends (measured with 5.2). */
  #exitTrap: string | undefined;
  /** A shell that has a trap of any signal stays to run it. */
  #hasTrap = false;
  /** A trap that is taken back from then on has had its effect: SIGTERM has ended the wait. */
  #hasWaited = false;
  /** Started with `&`. */
  #background: Served | undefined;
  #branches = 0;
  #evals = 0;
  #subshells = 0;
  /** Whether bash would be replaced here. */
  #wouldInBash = false;

  constructor(options: Options) {
    this.#options = options;
    this.#scope = scopeOf(options.variables ?? noVariables, options.parameters);
    this.#script = readScript(options.script);
  }

  end(): Served {
    const { list, isWhole } = this.#script;
    const { found, isSure } = this.#execs(list);
    const last = isSure ? undefined : isWhole ? this.#last(list, true, false) : this.#unread();
    const all = [...found, ...(last ? [last] : [])];
    return all.reduce(worse, { argv: [] });
  }

  /** Goes through a list in its order, and tells what `exec` starts. */
  #execs(list: List): Execs {
    const found: Served[] = [];
    for (const chain of list) {
      if (chain.isBackground) this.#startsInBackground(chain);
      else {
        const one = this.#execsOfChain(chain);
        found.push(...one.found);
        if (one.isSure) return { found, isSure: true };
      }
    }
    return { found, isSure: false };
  }

  #execsOfChain({ pipelines }: Chain): Execs {
    const found: Served[] = [];
    for (const [index, { commands, after }] of pipelines.entries()) {
      // In a pipe each command has a process of its own.
      if (commands.length > 1) continue;
      const isMaybe = index > 0 && (after === "||" || isQuestion(pipelines[index - 1]?.commands[0]));
      const one = isMaybe ? this.#inBranch(() => this.#execsOf(commands[0]!)) : this.#execsOf(commands[0]!);
      found.push(...one.found);
      if (one.isSure && !isMaybe) return { found, isSure: true };
    }
    return { found, isSure: false };
  }

  #execsOf(command: Command): Execs {
    switch (command.kind) {
      case "simple":
        return this.#execsOfSimple(command);
      case "group":
        return command.isSubshell ? this.#inSubshell(command.body) : this.#execs(command.body);
      case "if":
      case "case": {
        if (command.kind === "if") for (const test of command.tests) this.#execs(test);
        const all = command.bodies.map((body) => this.#inBranch(() => this.#execs(body)));
        return {
          found: all.flatMap(({ found }) => found),
          isSure: command.isTotal && all.every(({ isSure }) => isSure),
        };
      }
      case "loop": {
        const { found } = this.#inBranch(() => this.#execs(command.body));
        return { found, isSure: false };
      }
      case "function":
        this.#functions.set(command.name, command.body);
        return noExec;
      case "test":
        return noExec;
    }
  }

  /** What `exec` starts there takes the place of a child only, and its traps are the child's. */
  #inSubshell(body: List): Execs {
    const [trap, exitTrap] = [this.#trap, this.#exitTrap];
    this.#inBranch(() => this.#execs(body));
    [this.#trap, this.#exitTrap] = [trap, exitTrap];
    return noExec;
  }

  #execsOfSimple(command: Simple): Execs {
    this.#assign(command);
    const [name = "", ...rest] = argumentsOf(command, this.#scope);
    switch (name) {
      case "exec": {
        while (/^-[acl]+$/.test(rest[0] ?? "")) rest.splice(0, rest[0]!.includes("a") ? 2 : 1);
        return rest.length === 0 ? noExec : { found: [this.#options.served(rest)], isSure: true };
      }
      case "exit":
      case "return":
        return { found: [], isSure: true };
      case "trap":
        this.#setTrap(rest);
        return noExec;
      case "wait":
        this.#hasWaited = true;
        return noExec;
      case "eval":
        return this.#evaluating(rest, (list) => this.#execs(list)) ?? noExec;
      default: {
        const body = this.#functions.get(name);
        return body === undefined ? noExec : this.#calling(name, rest, noExec, () => this.#execsOf(body));
      }
    }
  }

  /** What serves where no `exec` has replaced the shell: its last command, or what it has started and waits for. */
  #last(list: List, isTop: boolean, mustStay: boolean): Served | undefined {
    const index = list.findLastIndex((chain) => chain.isBackground || !this.#isSmall(chain));
    const chain = list[index];
    if (chain === undefined) return this.#background && this.#waiting(this.#background);
    if (chain.isBackground || this.#isIdle(chain)) {
      const before = this.#background ?? this.#daemonBefore(list.slice(0, index));
      if (before) return this.#waiting(before, !chain.isBackground && this.#blocksTrap(chain));
    }
    const { pipelines } = chain;
    const at = Math.max(
      pipelines.findLastIndex((one) => !one.commands.every((command) => this.#isSmallCommand(command))),
      0,
    );
    const pipeline = pipelines[at]!;
    if (pipeline.commands.length > 1) return this.#pipe(pipeline);
    const isLast = index === list.length - 1 && at === pipelines.length - 1;
    const [command] = pipeline.commands as readonly [Command];
    // bash looks at the last two commands of a line, whatever joins them, and at no others.
    const isInLine = !chain.startsLine && index > 0;
    const isNested = isInLine && (pipelines.length > 1 || list[index - 1]?.isBackground === true);
    const givesWay = (shell: Shell): boolean =>
      !mustStay && isLast && !pipeline.isPrefixed && this.#givesWay(shell, command, isTop, isNested);
    this.#wouldInBash = givesWay("bash");
    return this.#lastOf(command, !givesWay(this.#options.shell));
  }

  #lastOf(command: Command, stays: boolean): Served | undefined {
    switch (command.kind) {
      case "simple":
        return this.#program(command, stays);
      case "group": {
        if (!command.isSubshell) return this.#last(command.body, false, stays);
        this.#subshells += 1;
        const served = this.#last(command.body, false, stays);
        this.#subshells -= 1;
        return served;
      }
      case "if":
      case "case": {
        const all = command.bodies.flatMap((body) => this.#last(body, false, stays) ?? []);
        return all.length === 0 ? undefined : all.reduce(worse);
      }
      case "loop":
        return this.#last(command.body, false, true);
      case "function":
      case "test":
        return undefined;
    }
  }

  /** Measured: bash 5.1 to 5.3, busybox 1.30 to 1.38, dash 0.5.11 and 0.5.12, zsh 5.9, mksh 59. */
  #givesWay(shell: Shell, command: Command, isTop: boolean, isNested: boolean): boolean {
    const { trailing } = this.#script;
    if (this.#hasTrap || this.#options.isFile) return false;
    switch (shell) {
      case "bash":
        return (
          isTop &&
          command.kind === "simple" &&
          !command.isRedirected &&
          !isNested &&
          /^[ \t;]*(?:#[^\n]*)?\n?$/.test(trailing)
        );
      case "ash":
        return command.kind !== "loop" && !trailing.includes("\n");
      case "zsh":
        return true;
      default:
        return false;
    }
  }

  #program(command: Simple, stays: boolean): Served | undefined {
    const [name = "", ...rest] = programIn(argumentsOf(command, this.#scope), this.#subshells > 0);
    if (name === "exec" || name === "") return undefined;
    if (name === "eval" && this.#canEvaluate(rest))
      return this.#evaluating(rest, (list) => this.#last(list, false, true));
    const body = this.#functions.get(name);
    if (body !== undefined) return this.#calling(name, rest, undefined, () => this.#lastOf(body, true));
    const isSourced = name === "." || name === "source";
    const served = isSourced || name === "eval" ? { argv: [] } : this.#options.served([name, ...rest]);
    // What it starts keeps SIGTERM to itself in any case.
    if (served.pidOne?.certainty === "likely" && served.pidOne.instead?.startsWith("the command of"))
      return served;
    if (isSourced)
      return {
        argv: [],
        pidOne: this.#between("what the script that it reads starts cannot be seen here", "unknown"),
      };
    if (this.#trap === undefined && this.#exitTrap !== undefined) return this.#waiting(served);
    if (this.#trap !== undefined) return { ...served, pidOne: this.#between(trapWaits, "likely") };
    if (!stays) return served;
    const { shell, script } = this.#options;
    const because =
      this.#wouldInBash && (shell === "sh" || shell === "dash") && name !== "eval"
        ? `the sh of Debian and Ubuntu (dash) stays, and ${this.#hasNoHandler}; bash would give way`
        : `the shell stays until its last command has ended, and ${this.#hasNoHandler}`;
    const instead = this.#wouldInBash ? withoutShell(script) : "exec before the command that serves";
    return { ...served, pidOne: this.#between(because, "likely", instead) };
  }

  #pipe({ commands }: Pipeline): Served {
    const first = commands.find((one) => !this.#isSmallCommand(one));
    return {
      argv: first === undefined ? [] : this.#servedAsChild(first).argv,
      pidOne: this.#between(
        `the shell waits for its pipeline, and ${this.#hasNoHandler}`,
        "certain",
        "a command without a pipe",
      ),
    };
  }

  /** The shell waits for what it has started, or ends before it: its trap decides. */
  #waiting(served: Served, isTrapBlocked = false): Served {
    const between = (because: string, more: Partial<PidOne> = {}): Served => ({
      argv: served.argv,
      pidOne: {
        ...this.#between(because, "likely", "exec before the command that serves"),
        ...more,
      },
    });
    const action = this.#trap ?? this.#exitTrap;
    if (action === undefined)
      return between(`the shell stays until its last command has ended, and ${this.#hasNoHandler}`);
    if (isTrapBlocked && this.#trap !== undefined) return between(trapWaits);
    const { list, isWhole } = readScript(action);
    const names = this.#namesInList(list);
    if (names.some((name) => stopsAndWaits.has(name))) return served;
    if (names.some((name) => stops.has(name)))
      return this.#staysAfter(names)
        ? served
        : between("its trap ends `wait`, and so the shell, while the server still stops", {
            endsFirst: true,
            instead: "a second `wait` after the first",
          });
    return isWhole && names.every((name) => isBuiltin(name) || small.has(name))
      ? between("its trap ends the shell, and the server is killed with it", { endsFirst: true })
      : between("what its trap does cannot be seen here", { certainty: "unknown" });
  }

  /** A trap interrupts `wait`, which then is over: the shell goes on with what follows. */
  #staysAfter(inTrap: readonly string[]): boolean {
    const waits = (names: readonly string[]): number => names.filter((name) => idle.has(name)).length;
    if (waits(inTrap) > 0) return true;
    if (this.#trap === undefined || inTrap.includes("exit")) return false;
    const { list, isWhole } = this.#script;
    const rest = list.slice(list.findLastIndex((chain) => chain.isBackground) + 1);
    const loops = rest.some((chain) => this.#mainOf(chain)?.kind === "loop");
    return !isWhole || loops || waits(this.#namesInList(rest)) !== 1;
  }

  #namesInList(list: List): string[] {
    return list.flatMap(({ pipelines }) => pipelines.flatMap(({ commands }) => this.#namesIn(commands)));
  }

  #namesIn(commands: readonly Command[]): string[] {
    return commands.flatMap((command) => {
      if (command.kind === "simple") {
        const [name = ""] = argumentsOf(command, this.#scope);
        const body = this.#functions.get(name);
        return body === undefined
          ? [programOf(name)]
          : this.#calling(name, [], [], () => this.#namesIn([body]));
      }
      const lists =
        command.kind === "group" || command.kind === "loop"
          ? [command.body]
          : command.kind === "if" || command.kind === "case"
            ? command.bodies
            : [];
      return this.#namesInList(lists.flat());
    });
  }

  #between(because: string, certainty: PidOne["certainty"], instead?: string): PidOne {
    return {
      what: this.#options.what,
      because,
      certainty,
      ...(instead === undefined ? {} : { instead }),
      ...(this.#options.isPidShared ? { behind: "the pause process" } : {}),
    };
  }

  get #hasNoHandler(): string {
    return this.#options.isPidShared
      ? "ends at SIGTERM, and the server is killed with it"
      : "as PID 1 it has no handler for SIGTERM";
  }

  #unread(): Served {
    return { argv: [], pidOne: this.#between("its script cannot be read here", "unknown") };
  }

  #startsInBackground(chain: Chain): void {
    const command = this.#mainOf(chain);
    if (command !== undefined) this.#background = this.#servedAsChild(command);
  }

  /** A program that has put itself into the background, before a command that only waits. */
  #daemonBefore(list: List): Served | undefined {
    const chain = list.findLast((one) => !this.#isSmall(one));
    const command = chain && this.#mainOf(chain);
    return command?.kind === "simple" ? this.#servedAsChild(command) : undefined;
  }

  /** The command of a chain that is no small one; of several the last, of a pipe the first. */
  #mainOf({ pipelines }: Chain): Command | undefined {
    return pipelines
      .flatMap(({ commands }) => commands.find((one) => !this.#isSmallCommand(one)) ?? [])
      .at(-1);
  }

  /** What a child of the shell serves. */
  #servedAsChild(command: Command): Served {
    this.#subshells += 1;
    const served = this.#lastOf(command, true);
    this.#subshells -= 1;
    return { argv: served?.argv ?? [] };
  }

  #isSmall({ pipelines }: Chain): boolean {
    return pipelines.every(({ commands }) => commands.every((one) => this.#isSmallCommand(one)));
  }

  #isSmallCommand(command: Command): boolean {
    if (command.kind === "function" || command.kind === "test") return true;
    if (command.kind !== "simple") return false;
    const [name] = argumentsOf(command, this.#scope);
    if (name === undefined) return true;
    if (name === "sleep" && this.#background === undefined)
      return argumentsOf(command, this.#scope)[1] !== "infinity";
    return (
      (small.has(name) && name !== "sleep") ||
      (isBuiltin(name) && !/^(?:\.|source|eval|wait|exec|command)$/.test(name))
    );
  }

  #isIdle(chain: Chain): boolean {
    const command = this.#mainOf(chain);
    if (command?.kind === "loop") return command.body.every((one) => this.#isSmall(one) || this.#isIdle(one));
    if (command?.kind !== "simple") return false;
    return idle.has(argumentsOf(command, this.#scope)[0] ?? "");
  }

  /** A program in the foreground, which no signal reaches. */
  #blocksTrap(chain: Chain): boolean {
    const command = this.#mainOf(chain);
    if (command?.kind !== "simple") return false;
    return ["tail", "sleep"].includes(argumentsOf(command, this.#scope)[0] ?? "");
  }

  #assign(command: Simple): void {
    if (this.#branches === 0) assign(command, this.#scope);
    else for (const { name } of command.assignments) this.#scope.variables.set(name, unknown);
  }

  #setTrap(words: readonly string[]): void {
    const [action, ...signals] = words.filter((word) => word !== "--");
    if (action === undefined || signals.length === 0) return;
    const isSet = action !== "-" && action !== "";
    if (this.#hasWaited && !isSet) return;
    this.#hasTrap ||= isSet;
    if (this.#options.shell === "bash" && signals.some((one) => /^(?:EXIT|0)$/i.test(one)))
      this.#exitTrap = isSet ? action : undefined;
    if (signals.some((one) => /^(?:SIG)?TERM$|^15$/i.test(one))) this.#trap = isSet ? action : undefined;
  }

  #canEvaluate(words: readonly string[]): boolean {
    return this.#evals < mostEvals && !words.some((word) => word.includes(unknown));
  }

  #evaluating<T>(words: readonly string[], run: (list: List) => T): T | undefined {
    if (!this.#canEvaluate(words)) return undefined;
    this.#evals += 1;
    const result = run(readScript(words.join(" ")).list);
    this.#evals -= 1;
    return result;
  }

  #inBranch<T>(run: () => T): T {
    this.#branches += 1;
    const result = run();
    this.#branches -= 1;
    return result;
  }

  #calling<T>(name: string, parameters: readonly string[], otherwise: T, run: () => T): T {
    if (this.#running.has(name)) return otherwise;
    const outer = this.#scope;
    this.#running.add(name);
    this.#scope = { ...outer, parameters: [outer.parameters[0] ?? "", ...parameters] };
    const result = run();
    this.#scope = outer;
    this.#running.delete(name);
    return result;
  }
}

const severity = { certain: 3, likely: 2, unknown: 1 } as const;

function worse(a: Served, b: Served): Served {
  const of = ({ pidOne }: Served): number => (pidOne ? severity[pidOne.certainty] : 0);
  const [first, second] = of(b) > of(a) ? [b, a] : [a, b];
  return first.argv.length > 0 ? first : { ...first, argv: second.argv };
}

/** What a shell starts, behind `command`, and behind an `exec` that replaces a child of the shell only. */
function programIn(words: readonly string[], isChild: boolean): readonly string[] {
  return words[0] === "command" || (isChild && words[0] === "exec") ? words.slice(1) : words;
}
