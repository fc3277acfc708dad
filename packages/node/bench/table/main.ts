/**
 * Per protocol: what each library loses while its pods are replaced under load.
 *
 *     npm run table -w packages/node -- [--protocols h2,ws] [--libraries lameduck,terminus] [--configurations best]
 *
 * measures every cell asked for that is not there yet (`--again`: those too) and keeps each in results/, so that it can be run in parts:
 * `--for 4m` begins no cell after that time. `--print` prints the table of what is kept, `--write` puts it into docs/protocols.md.
 */
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { parseDuration } from "@lameduck/drain";
import { format, resolveConfig } from "prettier";
import { allCells, type Cell } from "./cells.ts";
import { keep, readKept } from "./kept.ts";
import { measure } from "./measure.ts";
import { intoPage, tableOf } from "./print.ts";

const { values } = parseArgs({
  options: {
    protocols: { type: "string" },
    libraries: { type: "string" },
    configurations: { type: "string" },
    replicas: { type: "string", default: "25" },
    rollouts: { type: "string", default: "2" },
    rps: { type: "string", default: "1000" },
    for: { type: "string", default: "24h" },
    again: { type: "boolean", default: false },
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

async function measureAll(cells: readonly Cell[]): Promise<void> {
  const until = performance.now() + parseDuration(values.for, "--for");
  const kept = values.again ? [] : await readKept();
  const scale = {
    replicas: Number(values.replicas),
    rollouts: Number(values.rollouts),
    rps: Number(values.rps),
  };
  let interrupted = false;
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => (interrupted = true));
  for (const cell of cells.filter((one) => !kept.some((known) => same(one, known)))) {
    if (performance.now() > until || interrupted) return;
    const { protocol, library, configuration } = cell;
    try {
      const { lost, sent, hold } = await keep(cell, scale, await measure(cell, scale, say));
      say(
        `${protocol} ${library} ${configuration}: ${lost} of ${sent} lost, held ${(hold.p50 / 1_000).toFixed(1)} s`,
      );
    } catch (error) {
      // The others go on; this one stays "not measured".
      say(
        `${protocol} ${library} ${configuration}: ${error instanceof Error ? error.message : String(error)}`,
      );
      process.exitCode = 3;
    }
  }
}

async function write(table: string): Promise<void> {
  const page = new URL("../../../../docs/protocols.md", import.meta.url);
  const text = intoPage(await readFile(page, "utf8"), table);
  const options = await resolveConfig(page);
  await writeFile(page, await format(text, { ...options, parser: "markdown" }));
}

try {
  const cells = wanted();
  if (!values.print && !values.write) await measureAll(cells);
  const table = tableOf(await readKept());
  if (values.write) await write(table);
  else process.stdout.write(`${table}\n`);
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 2;
}
