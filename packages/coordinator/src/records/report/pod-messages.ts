import type { Program } from "./drain-report.ts";

/** A pod's reports, checked: a pod may send any text. */
export type PodMessages = Readonly<ReturnType<typeof readMessages>>;

const programs: ReadonlySet<string> = new Set(["library", "init", "wait"] satisfies Program[]);
/** A stop reason. Those of newer releases are kept, too, if they are a single word. */
const word = /^[a-z][a-z-]{0,30}$/;

export function readMessages(reported: Readonly<Record<string, string>>) {
  const program = reported["program"];
  return {
    program: program !== undefined && programs.has(program) ? (program as Program) : undefined,
    policy: wordOf(reported["policy"]),
    reason: wordOf(reported["reason"]),
    heldMs: countOf(reported["held-ms"]),
    floorMs: countOf(reported["floor-ms"]),
    lastArrivalMs: countOf(reported["last-arrival-ms"]),
    connections: countOf(reported["connections"]),
    requests: countOf(reported["requests"]),
    words: textOf(reported["oldest-wait"]),
  };
}

/** Whole and not negative; as many digits as a number holds exactly. */
function countOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function wordOf(text: string | undefined): string | undefined {
  return text !== undefined && word.test(text) ? text : undefined;
}

const longestText = 500;

/** One line that a terminal can show. */
function textOf(text: string | undefined): string | undefined {
  const shown = text?.replaceAll(/[^\P{C}]/gu, " ").trim();
  return shown ? shown.slice(0, longestText) : undefined;
}
