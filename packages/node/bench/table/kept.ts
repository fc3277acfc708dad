import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RemedyResult } from "@lameduck/accounting";
import { formatJson } from "../../../../scripts/format-page.ts";
import type { Cell } from "./cells.ts";
import type { Scale as MeasuredScale } from "./turns.ts";

export interface Scale extends MeasuredScale {
  /** How often every pod was replaced. */
  readonly rollouts: number;
}

/** What is kept of a cell: the figures, and a sentence for each kind of loss. The requests themselves would be megabytes. */
export interface KeptCell extends Cell, Scale {
  readonly recordedAt: string;
  readonly node: string;
  readonly terminations: number;
  readonly sent: number;
  readonly notSent: number;
  readonly lost: number;
  readonly lostNew: number;
  readonly lostPooled: number;
  readonly resent: number;
  readonly slow: number;
  readonly killed: number;
  readonly lostByCause: RemedyResult["lostByCause"];
  readonly lostByOutcome: RemedyResult["lostByOutcome"];
  readonly hold: RemedyResult["hold"];
  readonly total: { readonly p50: number; readonly max: number };
  readonly exits: Readonly<Record<string, number>>;
  readonly examples: readonly string[];
}

const folder = join(import.meta.dirname, "results");

const fileOf = ({ protocol, library, configuration }: Cell): string =>
  join(folder, `${protocol}.${library}.${configuration}.json`);

export async function keep(cell: Cell, scale: Scale, result: RemedyResult): Promise<KeptCell> {
  const { terminations, sent, notSent, lost, lostNew, lostPooled, slow, killed, lostByCause, lostByOutcome } =
    result;
  const totals = result.each.map(({ total }) => total).sort((a, b) => a - b);
  const exits: Record<string, number> = {};
  for (const { exitCode, killed: byKubelet } of result.each) {
    const how = byKubelet ? "SIGKILL" : exitCode === undefined ? "signal" : String(exitCode);
    exits[how] = (exits[how] ?? 0) + 1;
  }
  const examples = new Map(
    result.lostRequests.map(({ cause, outcome, sentence }) => [`${cause} ${outcome}`, sentence]),
  );
  const kept: KeptCell = {
    ...cell,
    ...scale,
    recordedAt: new Date().toISOString(),
    node: process.version,
    terminations,
    sent,
    notSent,
    lost,
    lostNew,
    lostPooled,
    resent: result.resent ?? 0,
    slow,
    killed,
    lostByCause,
    lostByOutcome,
    hold: result.hold,
    total: { p50: totals[Math.floor(totals.length / 2)] ?? 0, max: totals.at(-1) ?? 0 },
    exits,
    examples: [...examples].map(([kind, sentence]) => `${kind}: ${sentence}`),
  };
  await mkdir(folder, { recursive: true });
  const file = fileOf(cell);
  await writeFile(file, await formatJson(kept));
  return kept;
}

export async function readKept(): Promise<KeptCell[]> {
  const files = await readdir(folder).catch(() => []);
  return Promise.all(
    files
      .filter((name) => name.endsWith(".json"))
      .map(async (name) => JSON.parse(await readFile(join(folder, name), "utf8")) as KeptCell),
  );
}
