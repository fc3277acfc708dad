/**
 * Measures rollouts and faults on a real cluster under load, for each route, scenario and remedy:
 *
 *     npm run matrix -- --routes cluster-ip,haproxy --scenarios rollout --remedies adaptive,init --times 15
 *
 * It brings a cluster up and takes it down again. Each row is written to matrix/results, and `npm run matrix:table` makes the tables of
 * docs/evidence/results.md from them. docs/contributing/measuring.md lists the names of routes, scenarios and remedies.
 * Exit codes: 0 done, 2 wrong option, 3 anything else.
 */
import { writeFile } from "node:fs/promises";
import { badOption, requireInit, requireSoftware, type Cluster, type ProxyMode } from "../cluster/index.ts";
import { clusterConnection } from "@lameduck/kube/kubeconfig";
import { defaultImage } from "@lameduck/load";
import { runOnExisting } from "./existing/run.ts";
import { keep, tableOf, tableText } from "./kept.ts";
import { interruption, listed, named, onCluster, positive, runMain, say } from "../program.ts";
import { clusterRemedy, ownRemedies, type ClusterRemedy } from "./remedies.ts";
import { routes, type RouteName } from "./routes.ts";
import { runScenario } from "./run.ts";
import { scenarios } from "./scenarios.ts";
import { commandLine } from "../../scripts/command-line.ts";

const { values } = commandLine(import.meta.url, {
  options: {
    // ways of the requests to the pods, with commas between
    routes: { type: "string", default: "cluster-ip" },
    // what happens to the pods
    scenarios: { type: "string", default: "rollout" },
    // what the pods do at SIGTERM
    remedies: { type: "string", default: "close,sleep-5,sleep-15,quiet,adaptive,init" },
    // repetitions of each row
    times: { type: "string", default: "2" },
    // minutes of load per row; no further repetition begins after that time
    minutes: { type: "string", default: "60" },
    // number of pods
    replicas: { type: "string", default: "20" },
    // requests per second, over all pods
    rps: { type: "string", default: "600" },
    // maxSurge of the Deployment, a number or a share
    surge: { type: "string", default: "25%" },
    // maxUnavailable of the Deployment, a number or a share
    unavailable: { type: "string", default: "25%" },
    // limits.cpu of the pods, such as 100m; none without it
    "cpu-limit": { type: "string" },
    // nodes of the cluster that is brought up
    nodes: { type: "string", default: "5" },
    // minSyncPeriod of the kube-proxy of each node
    "proxy-lag": { type: "string", default: "1s,1s,2s,5s,10s" },
    // mode of kube-proxy: iptables or nftables
    "proxy-mode": { type: "string", default: "iptables" },
    // also write every request and event to this file
    "keep-recording": { type: "string" },
    // use the cluster of `npm run cluster:up`, and leave it there
    attach: { type: "boolean", default: false },
    // add to the row that is there, instead of replacing it
    append: { type: "boolean", default: false },
    // use your own cluster (the variable E2E_KUBECONFIG does the same)
    existing: { type: "boolean", default: false },
    // with --existing: its kubeconfig
    kubeconfig: { type: "string" },
    // with --existing: its context; nothing is deployed without one
    context: { type: "string" },
    // with --existing: an image with Node
    image: { type: "string", default: defaultImage },
    // with --existing: pods that send the load
    clients: { type: "string", default: "3" },
  },
});

function remedyOf(name: string): ClusterRemedy {
  const remedy = clusterRemedy(name);
  if (remedy !== undefined) return remedy;
  const known = ["those of `lameduck lab`", ...ownRemedies().map((own) => own.name)];
  throw badOption("--remedies", `"${name}" is not one of ${known.join(", ")}`);
}

const amountsOf = () => ({
  times: positive("--times", values.times),
  withinMs: positive("--minutes", values.minutes) * 60_000,
  replicas: positive("--replicas", values.replicas),
  requestsPerSecond: positive("--rps", values.rps),
});

type Amounts = ReturnType<typeof amountsOf>;

/** All combinations asked for. */
function combinations() {
  const remedies = values.remedies.split(",").map(remedyOf);
  const wanted = named("--scenarios", values.scenarios, scenarios);
  return listed("--routes", values.routes, Object.keys(routes) as RouteName[]).flatMap((route) =>
    wanted.flatMap((scenario) => remedies.map((remedy) => ({ route, scenario, remedy }))),
  );
}

type Combination = ReturnType<typeof combinations>[number];

async function runAll(cluster: Cluster, wanted: readonly Combination[], amounts: Amounts): Promise<void> {
  const failures: unknown[] = [];
  for (const one of wanted) {
    try {
      await runOne(cluster, one, amounts);
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

async function runOne(
  cluster: Cluster,
  { route, scenario, remedy }: Combination,
  amounts: Amounts,
): Promise<void> {
  const { replicas, requestsPerSecond } = amounts;
  const cpuLimit = values["cpu-limit"];
  const limited = cpuLimit === undefined ? {} : { cpuLimit };
  const rolling = { surge: values.surge, unavailable: values.unavailable };
  const { result, lags, reconnects, recording } = await runScenario(cluster, {
    scenario,
    remedy,
    route,
    ...amounts,
    rolling,
    ...limited,
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
    replicas,
    rolling,
    ...limited,
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
  if (values.existing || process.env["E2E_KUBECONFIG"]) return runElsewhere();
  const wanted = combinations();
  const amounts = amountsOf();
  if (wanted.some(({ remedy }) => remedy.name.includes("init"))) await requireInit();
  await requireSoftware(wanted.flatMap(({ route, remedy }) => [route, remedy.name]));
  const options = {
    nodes: Number(values.nodes),
    proxyLag: values["proxy-lag"].split(","),
    proxyMode: values["proxy-mode"] as ProxyMode,
  };
  await onCluster(values.attach, options, (cluster) => runAll(cluster, wanted, amounts));
}

/** It deploys: into the cluster that is named, never into whichever a kubeconfig happens to stand at. */
async function runElsewhere(): Promise<void> {
  if (values.context === undefined)
    throw badOption(
      "--existing",
      "say into which cluster it may deploy: --context NAME (`kubectl config get-contexts`)",
    );
  const connection = clusterConnection({
    kubeconfig: values.kubeconfig ?? process.env["E2E_KUBECONFIG"],
    context: values.context,
  });
  say(`context ${connection.context}, ${connection.server.origin}`);
  const all = await runOnExisting({
    connection,
    image: values.image,
    scenarios: values.scenarios.split(","),
    remedies: values.remedies.split(","),
    ...amountsOf(),
    clients: positive("--clients", values.clients),
    say,
    signal: interruption(),
  });
  for (const { scenario, results } of all)
    process.stdout.write(tableText(`${scenario}, through the ClusterIP, from pods`, results));
}

await runMain(main);
