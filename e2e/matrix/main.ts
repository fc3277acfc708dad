import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { comparisonText, mergeRuns, type RemedyResult } from "@lameduck/rollout";
import { Cluster, type ProxyMode } from "../cluster/index.ts";
import { clusterRemedy } from "./remedies.ts";
import { runScenario, type Lag } from "./run.ts";
import { routes, type RouteName } from "./routes.ts";
import { scenarios } from "./scenarios.ts";

const isRoute = (name: string): name is RouteName => name in routes;

const results = join(import.meta.dirname, "results");
const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** One row of the table, kept as a file of its own: a long matrix can be run in parts. */
interface Kept {
  readonly scenario: string;
  readonly route: RouteName;
  readonly proxyMode: ProxyMode;
  readonly proxyLag: readonly string[];
  readonly recordedAt: string;
  readonly result: RemedyResult;
  readonly lags: readonly Lag[];
  readonly reconnects: number;
}

const { values } = parseArgs({
  options: {
    scenarios: { type: "string", default: "rollout" },
    remedies: { type: "string", default: "close,sleep-5,sleep-15,quiet,adaptive,init" },
    routes: { type: "string", default: "cluster-ip" },
    times: { type: "string", default: "2" },
    replicas: { type: "string", default: "20" },
    rps: { type: "string", default: "600" },
    nodes: { type: "string", default: "5" },
    "proxy-lag": { type: "string", default: "1s,1s,2s,5s,10s" },
    "proxy-mode": { type: "string", default: "iptables" },
    "keep-recording": { type: "string" },
    // On the cluster that `npm run cluster:up` started, so that a long matrix can be run in parts.
    attach: { type: "boolean", default: false },
    // Add to the row that is already there instead of replacing it.
    append: { type: "boolean", default: false },
    table: { type: "boolean", default: false },
  },
});

async function runMatrix(): Promise<void> {
  await mkdir(results, { recursive: true });
  if (values.attach) {
    const cluster = await Cluster.attach();
    await runRows(cluster);
    cluster.api.close();
    return;
  }
  await using cluster = await Cluster.up({
    nodes: Number(values.nodes),
    proxyLag: values["proxy-lag"].split(","),
    proxyMode: values["proxy-mode"] as ProxyMode,
  });
  await runRows(cluster);
}

async function runRows(cluster: Cluster): Promise<void> {
  for (const route of values.routes.split(","))
    for (const scenario of values.scenarios.split(","))
      for (const remedy of values.remedies.split(",")) await runOne(cluster, route, scenario, remedy);
}

async function runOne(
  cluster: Cluster,
  route: string,
  scenarioName: string,
  remedyName: string,
): Promise<void> {
  const scenario = scenarios.find(({ name }) => name === scenarioName);
  const remedy = clusterRemedy(remedyName);
  if (scenario === undefined || remedy === undefined || !isRoute(route)) {
    say(`LAMEDUCK_MATRIX_UNKNOWN ${route} ${scenarioName} ${remedyName}: no such route, scenario or remedy`);
    process.exitCode = 2;
    return;
  }
  const { result, lags, reconnects, recording } = await runScenario(cluster, {
    scenario,
    remedy,
    route,
    times: Number(values.times),
    replicas: Number(values.replicas),
    requestsPerSecond: Number(values.rps),
    say,
  });
  const { proxyMode, proxyLag } = cluster.settings;
  const file = join(results, `${route}.${scenarioName}.${remedyName}.json`);
  const before = values.append ? await readKept(file) : undefined;
  const kept: Kept = {
    scenario: scenarioName,
    route,
    proxyMode,
    proxyLag,
    recordedAt: new Date().toISOString(),
    result: before === undefined ? result : mergeRuns([before.result, result], 1),
    lags,
    reconnects,
  };
  await writeFile(file, `${JSON.stringify(kept, null, 1)}\n`);
  if (values["keep-recording"] !== undefined)
    await writeFile(values["keep-recording"], JSON.stringify(recording));
  for (const lag of lags)
    say(
      `  ${lag.sender}: converged after ${lag.p50.toFixed(0)} ms (median), ${lag.max.toFixed(0)} ms at most`,
    );
  printTable([kept]);
}

function printTable(rows: readonly Kept[]): void {
  for (const [scenario, own] of Map.groupBy(rows, (row) => `${row.scenario}, through ${routes[row.route]}`)) {
    process.stdout.write(`\n${scenario}\n`);
    const text = comparisonText({
      schema: "lameduck.results/v1",
      tool: "rollout",
      version: "0.1.0",
      startedAt: own[0]?.recordedAt ?? "",
      seed: 1,
      settings: {},
      remedies: own.map(({ result }) => result),
    });
    process.stdout.write(`${text}\n`);
  }
}

async function readKept(file: string): Promise<Kept | undefined> {
  return readFile(file, "utf8").then(
    (text) => JSON.parse(text) as Kept,
    () => undefined,
  );
}

async function readAll(): Promise<Kept[]> {
  const files = (await readdir(results)).filter((name) => name.endsWith(".json")).sort();
  return Promise.all(
    files.map(async (name) => JSON.parse(await readFile(join(results, name), "utf8")) as Kept),
  );
}

if (values.table) printTable(await readAll());
else await runMatrix();
