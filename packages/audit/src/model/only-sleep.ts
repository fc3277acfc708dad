import { programOf, whyFails } from "./shell/commands.ts";
import { unknown } from "./shell/scope.ts";
import { signalNamed } from "./shell/signals.ts";
import { softwares } from "./software.ts";

/** What a hook does that only sleeps. */
export interface OnlySleep {
  /** Until the signal, or until its end. */
  readonly seconds: number;
  /** With what it then begins the stop; undefined where it leaves that to the kubelet. */
  readonly stop?: {
    /** "SIGQUIT" */
    readonly signal: string;
    /** The program that was asked to send it, such as nginx; undefined where it goes to PID 1 itself. */
    readonly by?: string;
  };
}

/** Why a hook is more than a sleep, or none. */
export interface NoSleep {
  readonly because: string;
}

/** Values of the container's variables that are certain. */
type Known = ReadonlyMap<string, string>;

/**
 * Whether a command does nothing but sleep, and perhaps begin a graceful stop behind that. What is not understood to the last character is
 * more than a sleep: somebody is about to take the command away.
 */
export function onlySleep(argv: readonly string[], known: Known = new Map()): OnlySleep | NoSleep {
  try {
    const own = /^\/usr\/bin\/env$|^env$/.test(argv[0] ?? "") ? argv.slice(1) : argv;
    const failure = whyFails(own);
    if (failure !== undefined) throw new More(failure.because);
    const script = shellScript(own);
    if (script) return read(commandsOf(script.text, known, script.isStrict));
    return sleepOf(own) === undefined ? { because: ranBy(own) } : read([{ after: ";", words: own }]);
  } catch (error) {
    if (error instanceof More) return { because: error.message };
    throw error;
  }
}

class More extends Error {}

/** Longer than anybody waits. */
const longestSeconds = 86_400;
/** Longer than any hook that only sleeps. */
const longestScript = 4_096;
const shells = /^(?:\/(?:usr\/)?(?:local\/)?bin\/|\/busybox\/)?(?:sh|bash|ash|dash)$/;
const busybox = /^(?:\/(?:usr\/)?bin\/|\/busybox\/)?busybox$/;

function shellScript(
  argv: readonly string[],
): { readonly text: string; readonly isStrict: boolean } | undefined {
  const words = busybox.test(argv[0] ?? "") && /^(?:a?sh)$/.test(argv[1] ?? "") ? argv.slice(1) : argv;
  if (!shells.test(words[0] ?? "")) return undefined;
  let isStrict = false;
  let isScript = false;
  for (let at = 1; at < words.length; at += 1) {
    const word = words[at]!;
    if (word === "--" && isScript) return { text: words[at + 1] ?? "", isStrict };
    // Others change what the script means, as -n does, with which nothing runs.
    if (/^-[celux]*o?$/.test(word) && word !== "-") {
      isScript ||= word.includes("c");
      isStrict ||= word.includes("u");
      if (word.endsWith("o") && shellOption(words[(at += 1)]) === "nounset") isStrict = true;
    } else if (isScript) return { text: word, isStrict };
    else break;
  }
  throw new More("its shell runs no script that is in the manifest");
}

function shellOption(name = ""): string {
  if (!/^(?:errexit|nounset|pipefail|xtrace)$/.test(name))
    throw new More("an option of its shell is not known");
  return name;
}

interface Simple {
  /** What stands before it. */
  readonly after: ";" | "&&" | "||";
  readonly words: readonly string[];
}

/** Reads quotes, variables, comments and `;`, `&&`, `||`; throws at all else that a shell knows. */
function commandsOf(script: string, known: Known, isStrict: boolean): Simple[] {
  if (script.length > longestScript) throw new More("its script is too long");
  const commands: Simple[] = [];
  let after: Simple["after"] | undefined = ";";
  let words: string[] = [];
  let word: string | undefined;
  let isQuoted = false;
  let at = 0;
  const endWord = (): void => {
    if (word !== undefined) words.push(word);
    word = undefined;
    isQuoted = false;
  };
  const endCommand = (): void => {
    endWord();
    if (words.length === 0) return;
    commands.push({ after: after ?? ";", words });
    words = [];
    after = undefined;
  };
  const add = (text: string): void => void (word = (word ?? "") + text);
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(script) ?? undefined;
    at += found?.[0].length ?? 0;
    return found;
  };
  const dollar = (): void => {
    let named: RegExpExecArray | undefined;
    isQuoted = true;
    const found = take(variable);
    if (found) {
      const [, plain, braced, otherwise] = found;
      const value = known.get(plain ?? braced ?? "");
      const text = value === "" && otherwise !== undefined ? otherwise : value;
      // Blanks would make several words of it, and a pattern other words.
      add(text !== undefined && /^[\w.:+-]+$/.test(text) ? text : unknown);
      if (isStrict && word?.includes(unknown)) throw new More("a variable may not be set");
    } else if (take(saying)) add(unknown);
    else if ((named = take(processOf))) add(unknown + (named[1] ?? named[2] ?? ""));
    else throw new More("a word of its script is a command of its own");
  };
  while (at < script.length) {
    const char = script[at]!;
    if (char === " " || char === "\t") {
      endWord();
      at += 1;
    } else if (char === "\n") {
      endCommand();
      after ??= ";";
      at += 1;
    } else if (char === "#" && word === undefined) take(/[^\n]*/y);
    else if (char === ";" || char === "&" || char === "|") {
      const [operator] = take(/;|&&|\|\|/y) ?? [];
      if (operator === undefined) throw new More("its script has a pipe, or a command in the background");
      endCommand();
      if (after !== undefined) throw new More("its script is not understood");
      after = operator as Simple["after"];
    } else if (char === ">" || char === "<") {
      // Digits right before it are the number of a file, and no word.
      if (word !== undefined && !isQuoted && /^\d+$/.test(word)) {
        if (!/^[12]$/.test(word)) throw new More("its output goes to a file");
        word = undefined;
      }
      endWord();
      if (!take(harmlessTarget)) throw new More("its output goes to a file");
    } else if (char === "'") {
      const [, text] = take(/'([^']*)'/y) ?? [];
      if (text === undefined) throw new More("its script is not understood");
      add(text);
      isQuoted = true;
    } else if (char === '"') {
      add("");
      isQuoted = true;
      at += 1;
      while (script[at] !== '"') {
        if (at >= script.length) throw new More("its script is not understood");
        const plain = take(/[^"$`\\]+/y) ?? take(/\\(?![$`"\\\n])/y);
        const escaped = plain ? undefined : take(/\\([$`"\\\n])/y);
        if (plain) add(plain[0]);
        else if (escaped) add(escaped[1] === "\n" ? "" : escaped[1]!);
        else dollar();
      }
      at += 1;
    } else if (char === "\\") {
      const [, escaped] = take(/\\([^])/y) ?? [];
      if (escaped === undefined) throw new More("its script is not understood");
      if (escaped === "\n") continue;
      add(escaped);
      isQuoted = true;
    } else if (char === "$" || char === "`") dollar();
    else if (char === "(" || char === ")") throw new More("its script is not understood");
    else add(take(/[^\s;&|()<>"'`$\\]+|\s/y)![0]);
  }
  endCommand();
  if (after === "&&" || after === "||") throw new More("its script is not understood");
  return commands;
}

const variable = /\$(?:([A-Za-z_]\w*|[?$!#0])|\{([A-Za-z_]\w*)(?::-([\w.]*))?\})/y;
/** Commands within a word that only tell something: for `echo`. */
const saying =
  /\$\((?:date(?: (?:-u|-I\w*|\+[\w%:.-]+|'\+[^']*'|"\+[\w%:. -]*"))*|hostname)\)|`(?:date(?: (?:-u|-I\w*|\+[\w%:.-]+))*|hostname)`/y;
/** The first process of a program, by its name or by the file that has its number: for `kill`. */
const processOf = /\$\((?:pidof (?:-s )?([a-z][\w.-]*)|cat [\w./-]*\/([a-z][\w-]*)\.pid)\)/y;
/** Where a line is told, or thrown away; lameduck-init, too, tells its lines where PID 1 does. */
const harmlessTarget =
  /(?:>>?[ \t]*\/(?:dev\/(?:null|stdout|stderr|fd\/[12])|proc\/(?:1|self)\/fd\/[12])|>&[12]|<[ \t]*\/dev\/null)(?=[\s;&|]|$)/y;

function read(commands: readonly Simple[]): OnlySleep {
  let seconds: number | undefined;
  let stop: OnlySleep["stop"];
  let isOver = false;
  for (let at = 0; at < commands.length; at += 1) {
    const { after, words } = commands[at]!;
    if (isOver) throw new More("its script goes on behind its end");
    const [first = "", ...rest] = words;
    const argv = first === "exec" ? rest : words;
    const isExit = first === "exit" && rest.every((word) => /^\d{1,3}$/.test(word));
    const slept = sleepOf(argv);
    const stopped = stopOf(argv);
    const waits = stop === undefined ? 0 : waitLength(commands.slice(at));
    // Neither a sleep nor a signal fails.
    if (after === "||" && !isExit && !saysOnly(words))
      throw new More("it does something else where a command fails");
    if (slept !== undefined) {
      // Behind the signal it leaves the server the time for its stop, as `--then` does.
      if (stop === undefined) seconds = (seconds ?? 0) + slept;
    } else if (stopped !== undefined) {
      if (stop !== undefined) throw new More("it sends two signals");
      stop = stopped;
    } else if (waits > 0) at += waits - 1;
    else if (!isExit && !saysOnly(words)) throw new More(ranBy(argv));
    isOver = first === "exec" || (isExit && after !== "||");
  }
  if (stop !== undefined && (seconds ?? 0) === 0)
    throw new More("it stops the server without a sleep before");
  if (seconds === undefined) throw new More("it does not sleep");
  const whole = Math.ceil(seconds);
  if (whole > longestSeconds) throw new More("it sleeps for more than a day");
  return { seconds: whole, ...(stop === undefined ? {} : { stop }) };
}

function ranBy(argv: readonly string[]): string {
  const program = programOf(argv[0]);
  return /^(?:if|for|while|until|case|function|time)$/.test(program) || !/^[\w.+-]{1,40}$/.test(program)
    ? "its script is not understood"
    : `it runs ${program}`;
}

/** @returns undefined for other commands. */
function sleepOf(argv: readonly string[]): number | undefined {
  const words = busybox.test(argv[0] ?? "") ? argv.slice(1) : argv;
  if (!/^(?:\/(?:usr\/)?bin\/|\/busybox\/)?sleep$/.test(words[0] ?? "")) return undefined;
  const times = words.slice(1).map((word) => /^(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})([smhd]?)$/.exec(word));
  if (times.length === 0) throw new More("`sleep` has no time");
  return times.reduce((sum, time) => {
    if (time === null) throw new More("how long it sleeps is not known");
    return sum + Number(time[1]) * units[time[2] as keyof typeof units];
  }, 0);
}

const units = { "": 1, s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/** Only a signal to PID 1, and one to the first process of a program that has a graceful stop. */
function stopOf(argv: readonly string[]): OnlySleep["stop"] {
  const [first = "", ...rest] = argv;
  const program = programOf(first);
  const isKnown = /^kill|^pkill$/.test(program)
    ? /^(?:\/(?:usr\/)?s?bin\/)?\w+$/.test(first)
    : /^\/?[\w./-]+$/.test(first);
  if (!isKnown || argv.some((word) => /\s/.test(word))) return undefined;
  const line = [program, ...rest].join(" ");
  const [, signal = "TERM", target = ""] = sending.exec(line) ?? [];
  if (target === "1") return program === "kill" ? { signal: signalNamed(signal) } : undefined;
  const named = target.replace(unknown, "");
  const asked = target === "" ? program : target === named && program === "kill" ? "" : named;
  const software = softwares.find(({ programs }) => programs.includes(asked));
  if (software?.graceful === undefined) return undefined;
  const isAsked =
    target === "" ? controls[software.name]?.test(rest.join(" ")) : signalNamed(signal) === software.graceful;
  return isAsked ? { signal: software.graceful, by: software.name } : undefined;
}

/** A signal by its name or number, and whom it is sent to: `1`, or a program. */
const sending =
  /^(?:kill|pkill|killall) (?:-x )?(?:-(?:[sn] )?((?:SIG)?[A-Z][A-Z\d]*|[1-9]\d?) )?(?:-x |-- )?(1|\0?[a-z][\w.-]*)$/;

/** Arguments by which a program stops itself gracefully. */
const controls: Readonly<Record<string, RegExp | undefined>> = {
  nginx: /^(?:-[cp] [\w./-]+ )*-s quit(?: -[cp] [\w./-]+)*$/,
  "Apache httpd": /^(?:-k )?graceful-stop$/,
};

/** Of `while pgrep -x nginx; do sleep 1; done`, which waits for the end of what was stopped; 0 of other commands. */
function waitLength([test, ...following]: readonly Simple[]): number {
  const asks = /^while (?:(?:(?:pgrep|pidof)(?: -x)?|killall -0|pkill -0) [\w.-]+|kill -0 1)$/;
  if (!asks.test(test?.words.join(" ") ?? "")) return 0;
  // A line break may follow `do`.
  const isBroken = following[0]?.words.length === 1;
  const [body, end] = following.slice(isBroken ? 1 : 0);
  const words = isBroken ? ["do", ...(body?.words ?? [])] : (body?.words ?? []);
  const isInOrder = following.slice(0, isBroken ? 3 : 2).every(({ after }) => after === ";");
  const isWhole = following[0]?.words[0] === "do" && words[0] === "do" && end?.words.join(" ") === "done";
  return isInOrder && isWhole && sleepOf(words.slice(1)) !== undefined ? (isBroken ? 4 : 3) : 0;
}

/** Its only effect is a line that nobody but a reader of the log sees. */
function saysOnly([first = "", ...rest]: readonly string[]): boolean {
  switch (first) {
    case "echo":
    case "true":
    case ":":
      return true;
    case "printf":
      return !rest[0]?.startsWith("-");
    case "date":
      return rest.every((word) => /^(?:-u|-I\w*|\+.*)$/.test(word));
    case "wait":
      return rest.length === 0;
    case "set":
      return rest.length === 1 && /^-[ex]+$/.test(rest[0]!);
    default:
      return false;
  }
}
