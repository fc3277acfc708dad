/**
 * Per protocol: what each library loses while its pods are replaced under load.
 *
 *     npm run table -w packages/node -- [--protocols h2,ws] [--libraries lameduck,terminus] [--configurations best]
 *
 * measures every cell asked for that is not there yet (`--again`: those too) and keeps each in results/, so that it can be run in parts:
 * `--for 4m` begins no cell after that time, and Ctrl-C keeps those that are done. The cells of a protocol are measured in turn (turns.ts):
 * 15 to 35 s each, 10 s more for the first. `--try` keeps nothing, for other numbers of `--replicas` and `--rps`. `--print` prints the table
 * of what is kept, `--write` puts it into docs/evidence/comparison.md.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { parseDuration } from "@lameduck/drain";
import { enterStage, insideStage } from "@lameduck/stage";
import { allCells, type Cell } from "./cells.ts";
import { keep, readKept } from "./kept.ts";
import { tableOf } from "./print.ts";
import { compiled, measureInTurn } from "./turns.ts";
import { commandLine } from "../../../../scripts/command-line.ts";
import { pageWithin } from "../../../../scripts/format-page.ts";

const { values } = commandLine(import.meta.url, {
  options: {
    protocols: { type: "string" },
    libraries: { type: "string" },
    configurations: { type: "string" },
    replicas: { type: "string", default: "50" },
    rps: { type: "string", default: "1000" },
    for: { type: "string", default: "24h" },
    again: { type: "boolean", default: false },
    try: { type: "boolean", default: false },
    print: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});
const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** The cells asked for. @throws for a name that is none, before anything is started. */
function wanted(): Cell[] {
  const all = allCells();
  const chosen = (option: string, list: string | undefined, of: (cell: Cell) => string) => {
    const names = list?.split(",");
    const known = new Set(all.map(of));
    const stranger = names?.find((name) => !known.has(name));
    if (stranger !== undefined)
      throw new RangeError(`--${option}: "${stranger}" is none of ${[...known].join(", ")}`);
    return (cell: Cell): boolean => names === undefined || names.includes(of(cell));
  };
  return all
    .filter(chosen("protocols", values.protocols, ({ protocol }) => protocol))
    .filter(chosen("libraries", values.libraries, ({ library }) => library))
    .filter(chosen("configurations", values.configurations, ({ configuration }) => configuration));
}

const same = (a: Cell, b: Cell): boolean =>
  a.protocol === b.protocol && a.library === b.library && a.configuration === b.configuration;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function measureAll(cells: readonly Cell[]): Promise<void> {
  const until = performance.now() + parseDuration(values.for, "--for");
  const scale = { replicas: Number(values.replicas), rps: Number(values.rps) };
  const interrupt = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const)
    process.on(signal, () => interrupt.abort(new Error("interrupted")));
  for (const [protocol, own] of Map.groupBy(cells, (cell) => cell.protocol)) {
    const isOver = (): boolean => performance.now() > until || interrupt.signal.aborted;
    if (isOver()) return;
    const { signal } = interrupt;
    const { turns, failure } = await measureInTurn({
      protocol,
      cells: own,
      scale,
      until: isOver,
      say,
      signal,
    });
    for (const { cell, result } of turns) {
      if (!values.try) await keep(cell, { ...scale, rollouts: 1 }, result);
      const { lost, sent, hold } = result;
      const held = (hold.p50 / 1_000).toFixed(1);
      say(`${protocol} ${cell.library} ${cell.configuration}: ${lost} of ${sent} lost, held ${held} s`);
    }
    if (failure === undefined || interrupt.signal.aborted) continue;
    // The other protocols go on; what is left of this one stays "not measured".
    say(`${protocol} ${own[turns.length]?.library ?? ""}: ${messageOf(failure)}`);
    process.exitCode = 3;
  }
  if (interrupt.signal.aborted) process.exitCode = 130;
}

async function write(table: string): Promise<void> {
  const page = new URL("../../../../docs/evidence/comparison.md", import.meta.url);
  await writeFile(page, await pageWithin(await readFile(page, "utf8"), "libraries", table));
}

try {
  const cells = wanted();
  const kept = values.again || values.try ? [] : await readKept();
  const left = cells.filter((one) => !kept.some((known) => same(one, known)));
  if (values.print || values.write || left.length === 0) {
    const table = tableOf(await readKept());
    if (values.write) await write(table);
    else process.stdout.write(`${table}\n`);
  } else if (insideStage()) await measureAll(left);
  else {
    const from = performance.now();
    await mkdir(compiled, { recursive: true });
    process.exitCode = await enterStage(import.meta.filename, process.argv.slice(2), {
      writable: [compiled],
    });
    say(`${left.length} cells asked for, ${((performance.now() - from) / 1_000).toFixed(0)} s`);
    if (!values.try) process.stdout.write(`${tableOf(await readKept())}\n`);
  }
} catch (error) {
  say(messageOf(error));
  process.exitCode = 2;
}
