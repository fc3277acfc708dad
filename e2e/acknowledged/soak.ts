/**
 * Rollouts one after the other for an hour, while the API server is restarted every few minutes and every other time all watches expire
 * (410); each termination that the coordinator has missed, or has not recorded, is counted:
 *
 *     npm run acknowledged:soak -w e2e -- --minutes 60 --every 5 --rate 60
 *
 * It prints a line after each rollout: terminations, those without a DrainReport, and memory and processor of coordinators and
 * watchers; and at the end all of it in a line, with the requests that failed. Ends with 1 where a termination was missed.
 *
 *   --rate N   requests a second to all pods together. Without load (0) pods stop at the floor, before they are released (60)
 *   --attach   use the cluster of `npm run cluster:up`
 */
import { setTimeout as sleep } from "node:timers/promises";
import { runClock } from "@lameduck/accounting";
import { reportsOf, type DrainReport } from "@lameduck/coordinator";
import { operatorNames } from "@lameduck/protocol";
import { chartEnvironment } from "@lameduck/operator/chart-environment";
import { follow, until, type Cluster } from "../cluster/index.ts";
import { deployment, service } from "../cluster/workload.ts";
import { expireWatches } from "../matrix/faults/expire-watches.ts";
import { PodObserver } from "../matrix/observe/pods.ts";
import { quiet } from "../matrix/scenarios.ts";
import { onCluster, positive, runMain, say } from "../program.ts";
import { apply } from "../test/support.ts";
import { commandLine } from "../../scripts/command-line.ts";
import { coordinatorUrl, install } from "./installation.ts";
import { idleNode, WorkloadUsage } from "./process-usage.ts";
import { startLoad } from "./soak-load.ts";
import { remedyOf, ways } from "./ways.ts";

const { values } = commandLine(import.meta.url, {
  options: {
    minutes: { type: "string", default: "60" },
    every: { type: "string", default: "5" },
    replicas: { type: "string", default: "6" },
    rate: { type: "string", default: "60" },
    attach: { type: "boolean", default: false },
  },
});
const app = "web";
const { namespace, watcher } = operatorNames;

const wantedOf = () => ({
  lengthMs: positive("--minutes", values.minutes) * 60_000,
  everyMs: positive("--every", values.every) * 60_000,
  replicas: positive("--replicas", values.replicas),
  rate: values.rate === "0" ? 0 : positive("--rate", values.rate),
});

async function soak(
  cluster: Cluster,
  { lengthMs, everyMs, replicas, rate }: ReturnType<typeof wantedOf>,
): Promise<number> {
  await install(cluster, true);
  const clock = runClock();
  await using pods = await PodObserver.start(cluster, app, clock);
  const reports = new Map<string, DrainReport>();
  const following = await follow<DrainReport>(cluster.api, reportsOf("default"), {}, ({ type, object }) => {
    if (type !== "gone") reports.set(object.pod.name, object);
  });
  const [library] = ways;
  if (library === undefined) throw new Error("no way to hold");
  const { pod } = remedyOf(library, coordinatorUrl);
  await apply(cluster, service(app), deployment({ name: app, replicas, gracePeriodSeconds: 30, ...pod }));
  await quiet({ pods, replicas });
  // The slowest node writes the Service's first rules within 10 s; a connection before them would be refused.
  if (rate > 0) await sleep(12_000);
  // The last rollout may end some minutes late.
  const loadMs = lengthMs + 5 * 60_000;
  await using load = await startLoad({
    cluster,
    clock,
    app,
    pods,
    requestsPerSecond: rate,
    lengthMs: loadMs,
  });
  const missed = (): string[] => {
    const gone = new Set(pods.events.filter(({ type }) => type === "deleted").map((event) => event.pod));
    return [...gone].filter((name) => !reports.has(name));
  };
  const reported = (timeoutMs: number): Promise<unknown> =>
    until(() => Promise.resolve(missed().length === 0), { what: "reports", timeoutMs }).catch(
      () => undefined,
    );
  const usages = [
    new WorkloadUsage(cluster, "coordinators", [
      "-n",
      namespace,
      "-l",
      "app.kubernetes.io/component=coordinator",
    ]),
    new WorkloadUsage(cluster, "watchers", ["-n", watcher.namespace]),
  ];
  const usage = async (): Promise<string[]> => {
    const texts: string[] = [];
    for (const one of usages) texts.push(await one.read());
    return texts;
  };
  await usage();
  const end = clock.now() + lengthMs;
  let disturbance = clock.now() + everyMs;
  let restarts = 0;
  while (clock.now() < end) {
    await cluster.kubectl(["rollout", "restart", `deployment/${app}`]);
    await sleep(3_000);
    if (clock.now() >= disturbance) {
      if (restarts++ % 2 === 0) await cluster.restart("apiserver");
      else await expireWatches(cluster);
      disturbance += everyMs;
    }
    await quiet({ pods, replicas });
    // A report is written when the pod's object is gone, and may wait for its turn.
    await reported(20_000);
    const ended = pods.events.filter(({ type }) => type === "deleted").length;
    const unreleased = [...reports.values()].filter(({ moments }) => moments.released === undefined).length;
    say(
      [
        `${((clock.now() - end + lengthMs) / 60_000).toFixed(1)} min`,
        `${ended} terminations, ${missed().length} without a report, ${unreleased} not released`,
        `${restarts} restarts of the API server`,
        ...(await usage()),
      ].join("; "),
    );
  }
  await reported(60_000);
  await following.stop();
  const ended = pods.events.filter(({ type }) => type === "deleted").length;
  const requests = await load.end();
  const floor = await idleNode(chartEnvironment("watcher"));
  process.stdout.write(
    `${ended} terminations in ${lengthMs / 60_000} min, ${missed().length} missed, ${restarts} restarts of the API server; ` +
      `${[requests, ...usages.map(({ most }) => most), floor].join("; ")}\n`,
  );
  // Nothing collects the reports of the pods that end now.
  const unreported = missed();
  for (const name of unreported) process.stdout.write(`missed: ${name}\n`);
  await cluster.kubectl(["delete", `deployment/${app}`, `service/${app}`]);
  return unreported.length === 0 ? 0 : 1;
}

await runMain(async () => {
  const wanted = wantedOf();
  const options = { nodes: 5, proxyLag: ["1s", "1s", "2s", "5s", "10s"] };
  return onCluster(values.attach, options, (cluster) => soak(cluster, wanted));
});
