/** A time that a command takes at least, and whether that is all of it. */
export interface Taken {
  readonly least: number;
  readonly isExact: boolean;
}

const shells = new Set(["sh", "bash", "ash", "dash", "zsh", "ksh"]);
const nothing: Taken = { least: 0, isExact: true };
const unknown: Taken = { least: 0, isExact: false };
const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Commands that are over at once. */
const instant =
  /^(?:\S*\/)?(?:nginx|openresty|kill|pkill|killall|echo|printf|touch|rm|mkdir|true|:|exit|set|export|date|test|\[)(?:\s|$)/;

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

/** How long a command takes, as far as it sleeps. @param env literal variables of the container. */
export function timeTaken(argv: readonly string[], env: ReadonlyMap<string, string> = new Map()): Taken {
  const script = scriptOf(argv);
  if (script === undefined) return simple(argv.map((word) => quoted(word)).join(" "), env);
  const { commands, isPlain } = commandsOf(script);
  let least = 0;
  let isExact = isPlain;
  for (const command of commands) {
    // What stands before the first branch or loop runs in any case.
    if (!isPlain && /^(?:while|until|for|if|case|function|trap)\b|\|\||\(\)/.test(command))
      return { least, isExact: false };
    const taken = simple(command, env);
    least += taken.least;
    isExact &&= taken.isExact;
  }
  return { least, isExact };
}

function quoted(word: string): string {
  return /\s/.test(word) ? `"${word}"` : word;
}

function simple(command: string, env: ReadonlyMap<string, string>): Taken {
  // In the background.
  if (/&\s*$/.test(command)) return nothing;
  const sleep = /^(?:exec\s+)?(?:\S*\/)?(?:busybox\s+)?sleep\s+(.+)$/.exec(command);
  if (sleep) return slept(sleep[1]!, env);
  return instant.test(command) ? nothing : unknown;
}

function slept(words: string, env: ReadonlyMap<string, string>): Taken {
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
