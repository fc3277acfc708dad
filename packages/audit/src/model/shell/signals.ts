import { programOf } from "./commands.ts";

/** A signal that a command sends. */
export interface Sent {
  /** "SIGQUIT"; "SIG0" asks only whether the process is there. */
  readonly signal: string;
  readonly isPidOne: boolean;
}

const numbers: Readonly<Record<string, string>> = {
  1: "SIGHUP",
  2: "SIGINT",
  3: "SIGQUIT",
  9: "SIGKILL",
  10: "SIGUSR1",
  12: "SIGUSR2",
  15: "SIGTERM",
  18: "SIGCONT",
  28: "SIGWINCH",
};

/** "QUIT", "sigquit", "3" and "SIGRTMIN+3" as "SIGQUIT" and so on. */
export function signalNamed(text: string): string {
  const upper = text.trim().toUpperCase();
  return numbers[upper] ?? (upper.startsWith("SIG") ? upper : `SIG${upper}`);
}

const isSignal =
  /^-(?:\d+|(?:SIG)?(?:HUP|INT|QUIT|ABRT|KILL|USR1|USR2|TERM|CHLD|CONT|STOP|TSTP|WINCH|URG|PWR|RTMIN\+?\d*))$/i;

/** What `kill`, `pkill` and `killall` send; undefined for other programs, and where they only list. */
export function signalSent(argv: readonly string[]): Sent | undefined {
  const program = programOf(argv[0]);
  if (!/^(?:kill|pkill|killall5?)$/.test(program)) return undefined;
  let signal = "SIGTERM";
  const targets: string[] = [];
  for (let at = 1; at < argv.length; at += 1) {
    const word = argv[at]!;
    if (/^(?:-l|-L|--list|--table)$/.test(word)) return undefined;
    const [, inline] = /^--signal=(.+)$/.exec(word) ?? [];
    // In pkill and killall, -n and such are options of their own.
    if (/^(?:-s|--signal)$/.test(word) || (word === "-n" && program === "kill"))
      signal = signalNamed(argv[++at] ?? "");
    else if (inline !== undefined) signal = signalNamed(inline);
    else if (isSignal.test(word)) signal = signalNamed(word.slice(1));
    else if (word !== "--") targets.push(word);
  }
  return { signal, isPidOne: program === "kill" && targets.includes("1") };
}
