import { isQuestion, noScripts, programOf, shellCommandOf, whyFails, type Scripts } from "./commands.ts";
import { readScript } from "./read.ts";
import { argumentsOf, assign, noVariables, scopeOf, unknown, type Scope, type Variables } from "./scope.ts";
import { signalSent } from "./signals.ts";
import type { Chain, Command, List, Pipeline, Simple } from "./syntax.ts";

/** A time that a command takes at least, and whether that is all of it. */
interface Taken {
  readonly least: number;
  readonly isExact: boolean;
  /** How much of it is over before a command of the script stops the server. */
  readonly serving: number;
  /** Whether that is all of `serving`. */
  readonly isServingExact: boolean;
}

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Commands that are over at once. */
const instant = new Set(
  "nginx openresty kill pkill killall echo printf touch rm mkdir true : exit set export date test [ trap cd umask shift return false".split(
    " ",
  ),
);

/** The script ends here. */
const ending = new Set(["exit", "return", "false"]);

/** Programs that begin the stop of a server by an argument. */
const controllers =
  /^(?:nginx|openresty|apachectl|apache2ctl|httpd|apache2|pg_ctl|supervisorctl|uwsgi|unicorn|catalina\.sh|rabbitmqctl|redis-cli|valkey-cli|mysqladmin|consul|kong)$/;
const stopWords = /(?:^|[-=])(?:quit|stop|graceful-stop|shutdown|stop_app|leave)$/i;

/** Of Envoy, only a drain that is not graceful stops the listeners, and a failed health check stops nothing. */
const stopPaths = /shutdown|quitquitquit|terminate|\/-\/quit\b|drain_listeners(?!\?(?:[\w&]*&)?graceful)/i;

/** Where a command runs. */
interface Around {
  /** What is known of the container's variables. */
  readonly variables?: Variables;
  readonly isPidShared?: boolean;
  readonly scripts?: Scripts;
}

/** How long a command takes, as far as it sleeps. */
export function timeTaken(argv: readonly string[], around: Around = {}): Taken {
  // The hook has failed before it began.
  if (whyFails(argv, around.scripts) !== undefined)
    return { least: 0, isExact: true, serving: 0, isServingExact: true };
  const { script, rest, isFile } = shellCommandOf(argv, around.scripts) ?? {};
  if (script === undefined) {
    const { least, isExact } = ofProgram(argv);
    return { least, isExact, serving: least, isServingExact: isExact };
  }
  // What a file runs is not looked for in files: they may run each other.
  const inside = isFile ? { ...around, scripts: noScripts } : around;
  const { least, isExact, stopped } = clockOf(script, scopeOf(around.variables ?? noVariables, rest), inside);
  const serving = stopped ?? { least, isExact };
  return { least, isExact, serving: serving.least, isServingExact: serving.isExact };
}

function clockOf(script: string, scope: Scope, around: Around): Clock {
  const { list, isWhole } = readScript(script);
  const clock = new Clock(scope, around);
  clock.run(list);
  if (!isWhole) clock.isExact = false;
  return clock;
}

class Clock {
  readonly #scope: Scope;
  readonly #around: Around;
  least = 0;
  isExact = true;
  /** When a command stopped the server. */
  stopped: { readonly least: number; readonly isExact: boolean } | undefined;
  #isOver = false;

  constructor(scope: Scope, around: Around) {
    this.#scope = scope;
    this.#around = around;
  }

  run(list: List): void {
    for (const chain of list) {
      if (this.#isOver) return;
      if (!chain.isBackground) this.#chain(chain);
    }
  }

  #chain({ pipelines }: Chain): void {
    for (const [index, { commands, after }] of pipelines.entries()) {
      if (this.#isOver) return;
      if (isQuestion(pipelines[index - 1]?.commands[0])) {
        this.#oneOf([[asChain(pipelines.slice(index))], []]);
        return;
      }
      // What stands behind `||` is for a failure; a failure is not what a hook is written for.
      if (after === "||") continue;
      // The members of a pipe run at the same time.
      if (commands.length > 1)
        this.#atOnce(
          commands.map((command) => [
            asChain([{ commands: [command], isPrefixed: false, after: undefined }]),
          ]),
        );
      else this.#command(commands[0]!);
    }
  }

  #command(command: Command): void {
    switch (command.kind) {
      case "simple":
        this.#simple(command);
        break;
      case "group":
        this.run(command.body);
        break;
      case "if":
        for (const test of command.tests.slice(0, 1)) this.run(test);
        this.#oneOf(command.isTotal ? command.bodies : [...command.bodies, []]);
        break;
      case "case":
        this.#oneOf(command.isTotal ? command.bodies : [...command.bodies, []]);
        break;
      case "loop":
        this.#loop(command.body, command.times);
        break;
      case "function":
      case "test":
        break;
    }
  }

  #simple(command: Simple): void {
    assign(command, this.#scope);
    const words = argumentsOf(command, this.#scope);
    const argv = programOf(words[0]) === "exec" || words[0] === "command" ? words.slice(1) : words;
    if (argv.length === 0) return;
    const own = this.#ofFile(command, argv);
    if (own?.stopped)
      this.stopped ??= {
        least: this.least + own.stopped.least,
        isExact: this.isExact && own.stopped.isExact,
      };
    if (stops(argv, this.#around.isPidShared)) this.stopped ??= { least: this.least, isExact: this.isExact };
    const { least, isExact } = own ?? ofProgram(argv);
    this.least += least;
    this.isExact &&= isExact;
    if (ending.has(argv[0]!) || (words[0] === "exec" && argv.length > 0)) this.#isOver = true;
  }

  /** Of a script that is a file. Whether it sees what this one has set, depends on `export`. */
  #ofFile({ assignments }: Simple, argv: readonly string[]): Clock | undefined {
    const { script, rest = [], isFile } = shellCommandOf(argv, this.#around.scripts) ?? {};
    if (script === undefined || !isFile || assignments.length > 0) return undefined;
    const { variables = noVariables } = this.#around;
    const scope = scopeOf(variables, rest);
    for (const [name, value] of this.#scope.variables)
      if (variables.values.get(name) !== value) scope.variables.set(name, unknown);
    return clockOf(script, scope, { ...this.#around, scripts: noScripts });
  }

  #loop(body: List, times: number | undefined): void {
    const before = this.least;
    if (times === undefined) {
      this.#oneOf([body, []]);
      this.isExact = false;
    } else {
      this.#oneOf([body]);
      this.least = before + (this.least - before) * times;
    }
  }

  /** The shortest of the branches; a stop in one of them may be the one. */
  #oneOf(branches: readonly List[]): void {
    this.#merge(branches, Math.min, (least) => least.every((one) => one === least[0]));
  }

  #atOnce(branches: readonly List[]): void {
    this.#merge(branches, Math.max, () => true);
  }

  #merge(
    branches: readonly List[],
    least: (...all: number[]) => number,
    isExact: (least: readonly number[]) => boolean,
  ): void {
    const clocks = branches.map((branch) => {
      const clock = new Clock({ ...this.#scope, variables: new Map(this.#scope.variables) }, this.#around);
      clock.run(branch);
      return clock;
    });
    const times = clocks.map((one) => one.least);
    const stops = clocks.flatMap(({ stopped }) => stopped ?? []);
    if (stops.length > 0)
      this.stopped ??= {
        least: this.least + Math.min(...stops.map((one) => one.least)),
        isExact: this.isExact && stops.length === branches.length && stops.every((one) => one.isExact),
      };
    this.least += least(...times);
    this.isExact &&= clocks.every((one) => one.isExact && !one.#isOver) && isExact(times);
  }
}

function asChain([first, ...rest]: readonly Pipeline[]): Chain {
  const pipelines = first === undefined ? [] : [{ ...first, after: undefined }, ...rest];
  return { pipelines, isBackground: false, startsLine: false };
}

/** Whether the command stops the server, or begins its stop: nothing serves what comes after it. */
function stops(argv: readonly string[], isPidShared = false): boolean {
  const program = programOf(argv[0]);
  if (controllers.test(program)) return argv.slice(1).some((word) => stopWords.test(word));
  if (/^(?:curl|wget|http)$/.test(program)) return argv.slice(1).some((word) => stopPaths.test(word));
  const sent = signalSent(argv);
  if (sent === undefined || /^SIG(?:0|HUP|USR2|CONT|URG|CHLD)$/.test(sent.signal)) return false;
  // In a pod whose containers share their processes, PID 1 is the pause process, which ends at these two signals only.
  return !sent.isPidOne || !isPidShared || /^SIG(?:TERM|INT|KILL)$/.test(sent.signal);
}

function ofProgram(argv: readonly string[]): { readonly least: number; readonly isExact: boolean } {
  const isApplet = programOf(argv[0]) === "busybox";
  const [first, ...words] = isApplet ? argv.slice(1) : argv;
  const program = programOf(first);
  if (program !== "sleep") return { least: 0, isExact: instant.has(program) };
  let least = 0;
  for (const word of words) {
    const value = secondsOf(word);
    if (value === undefined) return { least, isExact: false };
    least += value;
  }
  return { least, isExact: words.length > 0 };
}

function secondsOf(word: string): number | undefined {
  if (word.includes(unknown)) return undefined;
  if (/^inf(?:inity)?$/i.test(word)) return Infinity;
  const [, digits, unit = "s"] = /^(\d+(?:\.\d*)?|\.\d+)([smhd]?)$/.exec(word) ?? [];
  return digits === undefined ? undefined : Number(digits) * units[unit || "s"]!;
}
