import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { comparisonText, mergeRuns, type RemedyResult } from "@lameduck/accounting";
import type { ProxyMode } from "../cluster/index.ts";
import { routes, type RouteName } from "./routes.ts";
import type { Lag, Rolling } from "./run.ts";

/** One row of the table, kept as a file of its own: a long matrix can be run in parts. */
export interface Row {
  readonly scenario: string;
  readonly route: RouteName;
  readonly proxyMode: ProxyMode;
  readonly proxyLag: readonly string[];
  readonly requestsPerSecond: number;
  readonly replicas: number;
  readonly rolling: Rolling;
  /** limits.cpu of the pods, where they had one. */
  readonly cpuLimit?: string;
  readonly recordedAt: string;
  readonly result: RemedyResult;
  /** Of the last run. */
  readonly lags: readonly Lag[];
  readonly reconnects: number;
}

const directory = join(import.meta.dirname, "results");

function fileOf({ route, scenario, result, requestsPerSecond, replicas, cpuLimit }: Row): string {
  const load = `${requestsPerSecond}-${replicas}`;
  const limit = cpuLimit === undefined ? [] : [cpuLimit];
  return join(directory, [route, scenario, result.remedy, load, ...limit, "json"].join("."));
}

/** Writes the row; with `append`, what was measured before under the same name is part of it. */
export async function keep(row: Row, append: boolean): Promise<Row> {
  await mkdir(directory, { recursive: true });
  const before = append ? await readRow(fileOf(row)) : undefined;
  const kept = before === undefined ? row : { ...row, result: mergeRuns([before.result, row.result], 1) };
  await writeFile(fileOf(row), `${JSON.stringify(kept, null, 1)}\n`);
  return kept;
}

async function readRow(file: string): Promise<Row | undefined> {
  return readFile(file, "utf8").then(
    (text) => JSON.parse(text) as Row,
    () => undefined,
  );
}

export async function readRows(): Promise<Row[]> {
  const files = await readdir(directory).catch(() => []);
  const rows = await Promise.all(files.map((name) => readRow(join(directory, name))));
  return rows.filter((row) => row !== undefined);
}

/** A table per scenario and route, a row per remedy, with the causes of what was lost. */
export function tableOf(rows: readonly Row[]): string {
  const groups = Map.groupBy(rows, (row) => `${row.scenario}, through ${routes[row.route]}`);
  return [...groups]
    .map(([title, own]) =>
      tableText(
        title,
        own.map(({ result }) => result),
      ),
    )
    .join("\n");
}

export function tableText(title: string, remedies: readonly RemedyResult[]): string {
  const results = comparisonText({
    schema: "lameduck.results/v1",
    tool: "rollout",
    version: "0.1.0",
    startedAt: new Date().toISOString(),
    seed: 1,
    settings: {},
    remedies,
  });
  return `\n${title}\n${results}`;
}
