/**
 * `npm run rollouts -w packages/init -- [CELL...]`: HAProxy, nginx and Python's http.server rolled in the lab under load, with
 * lameduck-init as PID 1 and as preStop hook, and with what people use instead. A cell is SOFTWARE or SOFTWARE.LAUNCHER ("nginx.soft-stop");
 * one that has been measured is not measured again, so that a long table can be made in parts. Pods run as uid 65534, without
 * capabilities, with no-new-privs and a read-only root. Needs root, HAProxy, nginx, dumb-init, setpriv.
 *
 *     --rollouts 13    of 4 pods each      --again   measure anew      --append   add to what was measured
 *     --rps 1000       --replicas 4        --table   only print        --write    put the table into docs/evidence/comparison.md
 */
import { fileURLToPath } from "node:url";
import { enterStage, insideStage, runLab, type LabSettings } from "@lameduck/stage";
import { parsePropagation } from "@lameduck/load";
import { cells, launchers, workloadOf, type Cell } from "./rollouts/cells.ts";
import { isWhole, keep, read, type Kept } from "./rollouts/kept.ts";
import { tableOf, writeToDocs } from "./rollouts/table.ts";
import { commandLine } from "../../../scripts/command-line.ts";

const { values, positionals } = commandLine(import.meta.url, {
  allowPositionals: true,
  options: {
    rollouts: { type: "string", default: "13" },
    replicas: { type: "string", default: "4" },
    rps: { type: "string", default: "1000" },
    seed: { type: "string", default: "1" },
    again: { type: "boolean", default: false },
    append: { type: "boolean", default: false },
    table: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});

const nameOf = ({ software, launcher }: Cell): string => `${software}.${launcher.replaceAll(" ", "-")}`;
const wanted = cells.filter(
  (cell) =>
    positionals.length === 0 || positionals.some((name) => name === cell.software || name === nameOf(cell)),
);
const interrupt = new AbortController();

if (wanted.length === 0) {
  process.stderr.write(`no such cell; there are ${cells.map(nameOf).join(", ")}\n`);
  process.exitCode = 2;
} else if (values.table || values.write) await print();
else if (insideStage()) await measureAll();
else {
  const code = await enterStage(fileURLToPath(import.meta.url), process.argv.slice(2), {
    network: "namespaces",
  });
  if (code === 0) await print();
  process.exitCode = code;
}

async function print(): Promise<void> {
  const table = tableOf(cells.flatMap((cell) => read(cell) ?? []));
  process.stdout.write(`${table}\n`);
  if (values.write) await writeToDocs(table);
}

async function measureAll(): Promise<void> {
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => interrupt.abort(new Error("interrupted")));
  for (const cell of wanted) {
    const before = values.again ? undefined : read(cell);
    if (before && !values.append) process.stderr.write(`${nameOf(cell)}: measured ${before.recordedAt}\n`);
    else if (before && !isWhole(before)) {
      process.stderr.write(
        `${nameOf(cell)}: too much was lost for all of it to be kept: measure it --again\n`,
      );
      process.exitCode = 2;
    } else report(keep(await measure(cell), before));
  }
}

function report({ cell, result }: Kept): void {
  const { terminations, lostNew, lostPooled, hold, oracle } = result;
  process.stderr.write(
    `${nameOf(cell)}: ${terminations} terminations, lost ${lostNew} + ${lostPooled}, hold ${Math.round(hold.p50)} ms, ` +
      `oracle ${Math.round(oracle.p50)} ms\n`,
  );
}

async function measure(cell: Cell): Promise<Kept> {
  const requestsPerSecond = Number(values.rps);
  const replicas = Number(values.replicas);
  const { description } = launchers[cell.launcher]!;
  const settings: LabSettings = {
    workload: workloadOf(cell, replicas),
    app: { kind: "other", program: cell.software, graceSeconds: 30 },
    remedies: [{ name: cell.launcher, description, adjust: () => ({}) }],
    rollouts: Number(values.rollouts),
    senders: [
      { kind: "l4", name: "node-1" },
      { kind: "l4", name: "node-2" },
      { kind: "l7", name: "ingress-1" },
      { kind: "client", name: "client-1" },
    ],
    propagation: parsePropagation("busy-iptables"),
    load: {
      rate: requestsPerSecond,
      pooledShare: 0.5,
      slowShare: 0,
      largeShare: 0,
      maxDuration: "10m",
      maxRequests: 2_000_000,
    },
    seed: Number(values.seed),
    warmUp: 3_000,
  };
  for await (const result of runLab(settings, { signal: interrupt.signal }))
    return { cell, recordedAt: new Date().toISOString(), requestsPerSecond, replicas, result };
  throw new Error("the lab gave no result");
}
