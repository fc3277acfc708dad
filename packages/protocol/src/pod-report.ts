import { readLines } from "./lines.ts";

/** What a pod may report of its termination. */
const keys = [
  "phase",
  "program",
  "policy",
  "reason",
  "held-ms",
  "floor-ms",
  "last-arrival-ms",
  "connections",
  "requests",
  "senders",
  "overruled",
  "oldest-wait",
] as const;

export type PodReport = Readonly<Partial<Record<(typeof keys)[number], string>>>;

const known: ReadonlySet<string> = new Set(keys);

/** Lines "key: value". What is empty is left out. */
export function writePodReport(report: PodReport): string {
  return Object.entries(report)
    .filter(([, value]) => value !== "")
    .map(([key, value]) => `${key}: ${value.replaceAll(/\s+/g, " ")}\n`)
    .join("");
}

/** Any text is a report: what is no line of a known key is left out. */
export function parsePodReport(text: string): Readonly<Record<string, string>> {
  return readLines(text, known);
}
