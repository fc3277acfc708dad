/** A time that a command takes at least, and whether that is all of it. */
export interface Taken {
  readonly least: number;
  readonly isExact: boolean;
  /** How much of it is over before a command of the script stops the server. */
  readonly serving: number;
}

const shells = new Set(["sh", "bash", "ash", "dash", "zsh", "ksh"]);
const nothing = { least: 0, isExact: true };
const unknown = { least: 0, isExact: false };
const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Commands that are over at once. */
const instant =
  /^(?:\S*\/)?(?:nginx|openresty|kill|pkill|killall|echo|printf|touch|rm|mkdir|true|:|exit|set|export|date|test|\[)(?:\s|$)/;

/** What stops the server, or begins its stop: nothing serves what comes after it. */
const stopping =
  /^(?:exec\s+)?(?:\S*\/)?(?:(?:nginx|openresty|apachectl|apache2ctl|httpd|apache2|pg_ctl|supervisorctl|uwsgi|unicorn|catalina\.sh)\s.*(?:quit|stop)|(?:kill|pkill|killall|killall5)(?:\s+(?!-(?:0|s\s+0|HUP|SIGHUP|1|USR2|SIGUSR2)\b)|$)|(?:curl|wget)\s.*(?:shutdown|quitquitquit|terminate|drain_listeners|healthcheck\/fail))/i;

/** The script ends here. */
const ending = /^(?:exit|return|false)(?:\s|$)/;

/** What a shell has itself, or reads as its own syntax: `exec` cannot start it. */
const ofShells = new Set(
  ". : ! [ [[ (( ( { source eval exec command builtin cd set export unset alias time coproc exit return test true false trap wait read umask ulimit shift local declare typeset let if then for while until case select function".split(
    " ",
  ),
);

/** The words of a script that is one plain command of a program; undefined for anything that only a shell understands. */
export function plainCommand(script: string): readonly string[] | undefined {
  const line = script.trim();
  if (
    !/^(?:[\w./=:@%+,-]+|"[^"$`\\\n]*"|'[^'\n]*')(?:[ \t]+(?:[\w./=:@%+,-]+|"[^"$`\\\n]*"|'[^'\n]*'))*$/.test(
      line,
    )
  )
    return undefined;
  const words = [...line.matchAll(/"([^"]*)"|'([^']*)'|([^\s"']+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? "",
  );
  const [program = ""] = words;
  return ofShells.has(program) || /^\w+=/.test(program) ? undefined : words;
}

/** Last part of a path. */
export function programOf(word: string | undefined): string {
  return word?.split("/").at(-1) ?? "";
}

export function isShell(word: string | undefined): boolean {
  return shells.has(programOf(word));
}

/** The script of `sh -c SCRIPT` and its like; undefined for anything else. */
export function scriptOf(argv: readonly string[]): string | undefined {
  if (!isShell(argv[0])) return undefined;
  const at = argv.findIndex((word, index) => index > 0 && /^-[a-z]*c[a-z]*$/.test(word));
  return at === -1 ? undefined : argv[at + 1];
}

/** Simple commands of a script in their order, as far as it is a plain list of them. */
export function commandsOf(script: string): {
  readonly commands: readonly string[];
  readonly isPlain: boolean;
} {
  const plain = script.replace(/(^|\s)#[^\n]*/g, "$1");
  const isPlain = !/(?:^|[\s;&|(])(?:while|until|for|if|case|function|trap|wait)\b|\(\)|\|\||`|\$\(/.test(
    plain,
  );
  return {
    commands: plain
      .split(/&&|;|\n/)
      .map((one) => one.trim())
      .filter((one) => one !== ""),
    isPlain,
  };
}

/** Why a command cannot do what was meant, where that is certain. */
export function whyFails(argv: readonly string[]): string | undefined {
  const [program = ""] = argv;
  if (/\s/.test(program.trim())) return `there is no program \`${program}\`: each word is an item of its own`;
  const script = scriptOf(argv)?.trim();
  const rest = argv.slice(argv.findIndex((word) => word.trim() === script) + 1);
  if (script !== undefined && /^(?:\S*\/)?sleep$/.test(script) && rest.length > 0)
    return `the shell runs \`sleep\` without \`${rest.join(" ")}\`: the script is one item, "sleep ${rest.join(" ")}"`;
  return undefined;
}

/** How long a command takes, as far as it sleeps. @param env literal variables of the container. */
export function timeTaken(argv: readonly string[], env: ReadonlyMap<string, string> = new Map()): Taken {
  // No such program, or `sleep` without its time: the hook has failed before it began.
  if (whyFails(argv) !== undefined) return { least: 0, isExact: true, serving: 0 };
  const script = scriptOf(argv);
  if (script === undefined) {
    const taken = simple(argv.map((word) => quoted(word)).join(" "), env);
    return { ...taken, serving: taken.least };
  }
  const { commands, isPlain } = commandsOf(script);
  let least = 0;
  let isExact = isPlain;
  let stopped: number | undefined;
  const taken = (exact: boolean): Taken => ({ least, isExact: exact, serving: stopped ?? least });
  for (const command of commands) {
    // What stands before the first branch or loop runs in any case.
    if (!isPlain && /^(?:while|until|for|if|case|function|trap)\b|\|\||\(\)/.test(command))
      return taken(false);
    if (ending.test(command)) return taken(isExact);
    if (stopping.test(command)) stopped ??= least;
    const own = simple(command, env);
    least += own.least;
    isExact &&= own.isExact;
  }
  return taken(isExact);
}

function quoted(word: string): string {
  return /\s/.test(word) ? `"${word}"` : word;
}

function simple(command: string, env: ReadonlyMap<string, string>): Omit<Taken, "serving"> {
  // In the background.
  if (/&\s*$/.test(command)) return nothing;
  const sleep = /^(?:exec\s+)?(?:\S*\/)?(?:busybox\s+)?sleep\s+(.+)$/.exec(command);
  if (sleep) return slept(sleep[1]!, env);
  return instant.test(command) ? nothing : unknown;
}

function slept(words: string, env: ReadonlyMap<string, string>): Omit<Taken, "serving"> {
  let least = 0;
  for (const word of words
    .replace(/[\d&]*>.*$/, "")
    .trim()
    .split(/\s+/)) {
    const value = secondsOf(expand(word.replaceAll(/["']/g, ""), env));
    if (value === undefined) return { least, isExact: false };
    least += value;
  }
  return { least, isExact: true };
}

/** `$NAME`, `${NAME}`, `${NAME:-10}` and Kubernetes' own `$(NAME)`. */
function expand(word: string, env: ReadonlyMap<string, string>): string {
  return word.replace(
    /\$(?:(\w+)|\{(\w+)(?::?-([^}]*))?\}|\((\w+)\))/g,
    (whole, bare, braced, otherwise, own) => {
      const name = String(bare ?? braced ?? own);
      return env.get(name) ?? (otherwise as string | undefined) ?? whole;
    },
  );
}

function secondsOf(word: string): number | undefined {
  if (/^inf(?:inity)?$/i.test(word)) return Infinity;
  const [, digits, unit = "s"] = /^(\d+(?:\.\d+)?)([smhd]?)$/.exec(word) ?? [];
  return digits === undefined ? undefined : Number(digits) * units[unit || "s"]!;
}
