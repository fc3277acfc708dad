import type { Program } from "./drain-report.ts";

/** What a pod's messages hold, as far as it can be believed: every text is a stranger's. */
export interface Said {
  readonly program: Program | undefined;
  readonly policy: string | undefined;
  readonly reason: string | undefined;
  readonly heldMs: number | undefined;
  readonly floorMs: number | undefined;
  readonly lastArrivalMs: number | undefined;
  readonly connections: number | undefined;
  readonly requests: number | undefined;
  readonly words: string | undefined;
  readonly lesson: string | undefined;
}

const programs: ReadonlySet<string> = new Set(["library", "init", "wait"] satisfies Program[]);
/** Stop reasons of packages/drain; another is a newer release's and is kept as it is, if it is a word. */
const word = /^[a-z][a-z-]{0,30}$/;

export function readSaid(said: Readonly<Record<string, string>>): Said {
  const program = said["program"];
  return {
    program: program !== undefined && programs.has(program) ? (program as Program) : undefined,
    policy: wordOf(said["policy"]),
    reason: wordOf(said["reason"]),
    heldMs: countOf(said["held-ms"]),
    floorMs: countOf(said["floor-ms"]),
    lastArrivalMs: countOf(said["last-arrival-ms"]),
    connections: countOf(said["connections"]),
    requests: countOf(said["requests"]),
    words: textOf(said["oldest-wait"]),
    lesson: said["lesson"],
  };
}

/** Whole and not negative; as many digits as a number holds exactly. */
function countOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function wordOf(text: string | undefined): string | undefined {
  return text !== undefined && word.test(text) ? text : undefined;
}

const longest = 500;

/** One line that a terminal can show. */
function textOf(text: string | undefined): string | undefined {
  const shown = text?.replaceAll(/[^\P{C}]/gu, " ").trim();
  return shown ? shown.slice(0, longest) : undefined;
}
