import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { Cluster, ClusterError, type ProxyMode } from "../cluster/index.ts";
import { keep, readRows, tableOf } from "./kept.ts";
import { clusterRemedy } from "./remedies.ts";
import { routes, type RouteName } from "./routes.ts";
import { runScenario } from "./run.ts";
import { scenarios } from "./scenarios.ts";

const say = (line: string): void => void process.stderr.write(`${line}\n`);

const { values } = parseArgs({
  options: {
    routes: { type: "string", default: "cluster-ip" },
    scenarios: { type: "string", default: "rollout" },
    remedies: { type: "string", default: "close,sleep-5,sleep-15,quiet,adaptive,init" },
    times: { type: "string", default: "2" },
    // Of load per row; then no further repetition begins.
    minutes: { type: "string", default: "60" },
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

const isRoute = (name: string): name is RouteName => name in routes;

function unknown(option: string, name: string, known: readonly string[]): ClusterError {
  return new ClusterError(
    "LAMEDUCK_CLUSTER_BAD_OPTION",
    option,
    `"${name}" is not one of ${known.join(", ")}`,
  );
}

/** All combinations asked for; a name that nobody knows is found before anything is started. */
function combinations() {
  return values.routes.split(",").flatMap((route) =>
    values.scenarios.split(",").flatMap((scenarioName) =>
      values.remedies.split(",").map((remedyName) => {
        const scenario = scenarios.find(({ name }) => name === scenarioName);
        const remedy = clusterRemedy(remedyName);
        if (!isRoute(route)) throw unknown("--routes", route, Object.keys(routes));
        if (scenario === undefined)
          throw unknown(
            "--scenarios",
            scenarioName,
            scenarios.map(({ name }) => name),
          );
        if (remedy === undefined)
          throw unknown("--remedies", remedyName, ["those of `lameduck lab`", "init", "init-wait"]);
        return { route, scenario, remedy };
      }),
    ),
  );
}

type Combination = ReturnType<typeof combinations>[number];

async function runAll(cluster: Cluster, wanted: readonly Combination[]): Promise<void> {
  const failures: unknown[] = [];
  for (const one of wanted) {
    try {
      await runOne(cluster, one);
    } catch (error) {
      // A long matrix goes on; what failed is said again at the end.
      say(
        `${one.scenario.name} ${one.remedy.name} ${one.route}: ${error instanceof Error ? error.message : String(error)}`,
      );
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

async function runOne(cluster: Cluster, { route, scenario, remedy }: Combination): Promise<void> {
  const requestsPerSecond = Number(values.rps);
  const { result, lags, reconnects, recording } = await runScenario(cluster, {
    scenario,
    remedy,
    route,
    times: Number(values.times),
    withinMs: Number(values.minutes) * 60_000,
    replicas: Number(values.replicas),
    requestsPerSecond,
    say,
  });
  const recordedAt = new Date().toISOString();
  const { proxyMode, proxyLag } = cluster.settings;
  const row = {
    scenario: scenario.name,
    route,
    proxyMode,
    proxyLag,
    requestsPerSecond,
    replicas: Number(values.replicas),
    recordedAt,
    result,
    lags,
    reconnects,
  };
  const kept = await keep(row, values.append);
  if (values["keep-recording"] !== undefined)
    await writeFile(values["keep-recording"], JSON.stringify(recording));
  for (const { sender, p50, max } of lags)
    say(`  ${sender}: converged after ${p50.toFixed(0)} ms (median), ${max.toFixed(0)} ms at most`);
  process.stdout.write(tableOf([kept]));
}

async function main(): Promise<void> {
  if (values.table) {
    process.stdout.write(tableOf(await readRows()));
    return;
  }
  const wanted = combinations();
  if (values.attach) {
    const cluster = await Cluster.attach();
    await runAll(cluster, wanted).finally(() => cluster.api.close());
    return;
  }
  await using cluster = await Cluster.up({
    nodes: Number(values.nodes),
    proxyLag: values["proxy-lag"].split(","),
    proxyMode: values["proxy-mode"] as ProxyMode,
  });
  await runAll(cluster, wanted);
}

try {
  await main();
} catch (error) {
  if (error instanceof ClusterError) say(`${error.code} ${error.message}\n  ${error.remedy}`);
  else say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = error instanceof ClusterError && error.code === "LAMEDUCK_CLUSTER_BAD_OPTION" ? 2 : 3;
}
