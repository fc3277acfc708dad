/**
 * Measures rollouts under load with acknowledgements, or the same pods without (--acknowledgements off or both):
 *
 *     npm run acknowledged -w e2e -- --ways library,init,wait,nginx,haproxy --rates 300,2 --times 8
 *
 * It brings a cluster up, installs operator, coordinator and watchers, and takes it down again; --attach uses the one of
 * `npm run cluster:up`. Prints a table with hold minus oracle for each termination; --keep FILE writes all of it as JSON.
 *
 *   --ways LIST        library, init, wait, nginx, haproxy (all)
 *   --rates LIST       requests a second, to all pods together (300,2)
 *   --routes LIST      as of `npm run matrix` (cluster-ip)
 *   --situations LIST  rollout, and rollouts with a fault: watcher-stopped, watcher-killed, watcher-partitioned, coordinator-killed,
 *                      coordinator-rolled, coordinator-partitioned, coordinator-down, apiserver-stopped, consumer-lies; versions,
 *                      versions-half, clocks; contour-rolled, contour-killed, contour-away, ingress-nginx-reloaded for their routes (rollout)
 *   --policy NAME      adaptive, or acknowledged, which stops only when released; injected pods get it by a DrainPolicy (adaptive)
 *   --acknowledgements on, off, or both: in turn, but for injected pods (on)
 *   --cap SECONDS      longest hold; the grace period is 5 s longer (as the pods have it: 25 s of 30 s)
 *   --times N, --minutes N, --replicas 12, --surge 25%, --unavailable 25%, --proxy-lag 1s,1s,2s,5s,10s
 *   --append           add to the rows of the file that --keep names
 */
import { readFile, writeFile } from "node:fs/promises";
import { reportsOf, type DrainReport } from "@lameduck/coordinator";
import { requireInit, requireSoftware, type Cluster } from "../cluster/index.ts";
import { configuration } from "../injected/software.ts";
import { routes, type RouteName } from "../matrix/routes.ts";
import { runScenario } from "../matrix/run.ts";
import type { Scenario } from "../matrix/scenarios.ts";
import { listed, named, onCluster, positive, runMain, say } from "../program.ts";
import { commandLine } from "../../scripts/command-line.ts";
import { apply } from "../test/support.ts";
import { tableOf, type Row } from "./figures.ts";
import { coordinatorUrl, inject, install, requirePolicy } from "./installation.ts";
import { startIngressConsumer } from "./ingress-consumer.ts";
import { situations } from "./situations/situations.ts";
import { remedyOf, ways, type Way } from "./ways.ts";

const { values } = commandLine(import.meta.url, {
  options: {
    ways: { type: "string", default: ways.map(({ name }) => name).join(",") },
    rates: { type: "string", default: "300,2" },
    routes: { type: "string", default: "cluster-ip" },
    situations: { type: "string", default: "rollout" },
    acknowledgements: { type: "string", default: "on" },
    cap: { type: "string" },
    policy: { type: "string", default: "adaptive" },
    times: { type: "string", default: "2" },
    minutes: { type: "string", default: "60" },
    replicas: { type: "string", default: "12" },
    surge: { type: "string", default: "25%" },
    unavailable: { type: "string", default: "25%" },
    "proxy-lag": { type: "string", default: "1s,1s,2s,5s,10s" },
    attach: { type: "boolean", default: false },
    keep: { type: "string" },
    append: { type: "boolean", default: false },
  },
});

/** Finds wrong names and numbers before anything is started. */
const wantedOf = () => ({
  ways: named("--ways", values.ways, ways),
  rates: values.rates.split(",").map((rate) => positive("--rates", rate)),
  routes: listed("--routes", values.routes, Object.keys(routes) as RouteName[]),
  situations: named("--situations", values.situations, situations),
  policy: listed("--policy", values.policy, ["adaptive", "acknowledged"])[0] ?? "adaptive",
  known: listed("--acknowledgements", values.acknowledgements, ["on", "off", "both"])[0] ?? "on",
  ...(values.cap === undefined ? {} : { capSeconds: positive("--cap", values.cap) }),
  times: positive("--times", values.times),
  withinMs: positive("--minutes", values.minutes) * 60_000,
  replicas: positive("--replicas", values.replicas),
});

type Wanted = ReturnType<typeof wantedOf>;

interface Cell {
  readonly way: Way;
  readonly acknowledged: boolean;
  readonly route: RouteName;
  readonly situation: Scenario;
  readonly rate: number;
}

function cells(wanted: Wanted): Cell[] {
  const known = { on: [true], off: [false], both: [true, false] }[wanted.known];
  const all = wanted.routes.flatMap((route) =>
    wanted.situations.flatMap((situation) =>
      wanted.rates.flatMap((rate) =>
        wanted.ways.flatMap((way) =>
          known.map((acknowledged) => ({ way, acknowledged, route, situation, rate })),
        ),
      ),
    ),
  );
  // With and without in turn, as the machine is not equally busy all the time. But the operator is installed anew for pods that it injects.
  return all.toSorted((a, b) => Number(isInjectedAlone(a)) - Number(isInjectedAlone(b)));
}

const isInjectedAlone = ({ way, acknowledged }: Cell): boolean => way.isInjected && !acknowledged;

async function measure(cluster: Cluster, wanted: Wanted): Promise<Row[]> {
  const rows: Row[] = [];
  if (values.append && values.keep !== undefined)
    rows.push(...(JSON.parse(await readFile(values.keep, "utf8").catch(() => "[]")) as Row[]));
  const before = rows.length;
  await apply(cluster, configuration);
  let installed: boolean | undefined;
  const isInstalledFor = (cell: Cell): boolean => installed === !isInjectedAlone(cell);
  for (const cell of cells(wanted))
    try {
      if (!isInstalledFor(cell)) {
        await install(cluster, !isInjectedAlone(cell));
        await requirePolicy(cluster, wanted);
      }
      installed = !isInjectedAlone(cell);
      rows.push(await one(cluster, wanted, cell));
      if (values.keep !== undefined) await writeFile(values.keep, JSON.stringify(rows, undefined, 1));
      say(tableOf(rows.slice(-1)));
    } catch (error) {
      // A long measurement goes on; what failed is no row.
      say(`${cell.way.name} ${cell.route} ${cell.situation.name}: ${String(error)}`);
      process.exitCode = 3;
    }
  return rows.slice(before);
}

async function one(
  cluster: Cluster,
  { policy, capSeconds, times, withinMs, replicas }: Wanted,
  { way, acknowledged, route, situation, rate }: Cell,
): Promise<Row> {
  await inject(cluster, way.isInjected);
  await using consumer = acknowledged ? await startIngressConsumer(cluster, route, "web") : undefined;
  void consumer;
  const { result, retried } = await runScenario(cluster, {
    remedy: remedyOf(way, acknowledged ? coordinatorUrl : undefined, { policy, capSeconds }),
    scenario: situation,
    route,
    // A release waits for the proxies of all nodes, too.
    countsAllSenders: acknowledged,
    times,
    withinMs,
    replicas,
    requestsPerSecond: rate,
    // Some ten requests to each pod: who has never seen a request waits for nobody. Pods younger than 10 s are a case of their own.
    warmUpMs: Math.max(12_000, (10_000 * replicas) / rate),
    rolling: { surge: values.surge, unavailable: values.unavailable },
    say,
  });
  // What the coordinator has recorded of each pod: for whom it has waited.
  const reports = acknowledged ? await cluster.api.list<DrainReport>(reportsOf("default")) : [];
  const names = new Set(result.each.map(({ pod }) => pod));
  return {
    way: way.name,
    acknowledged,
    policy,
    route,
    situation: situation.name,
    requestsPerSecond: rate,
    replicas,
    recordedAt: new Date().toISOString(),
    retried,
    ...(acknowledged ? { reports: reports.filter(({ pod }) => names.has(pod.name)) } : {}),
    result,
  };
}

await runMain(async () => {
  const wanted = wantedOf();
  await requireInit(["x64", "arm64"]);
  await requireSoftware([...wanted.ways.map(({ pod }) => pod.image ?? ""), ...wanted.routes]);
  const options = { nodes: 5, proxyLag: values["proxy-lag"].split(",") };
  const rows = await onCluster(values.attach, options, (cluster) => measure(cluster, wanted));
  process.stdout.write(tableOf(rows));
});
