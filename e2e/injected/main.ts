/**
 * Measures terminations of unchanged software under load, in a labelled namespace and in one without the label:
 *
 *     npm run injected -- --software nginx,haproxy --ways none,webhook,policy --routes cluster-ip,haproxy --times 5
 *
 * It brings a cluster up and takes it down again; --attach uses the one of `npm run cluster:up`. --keep FILE writes the results as JSON.
 */
import { writeFile } from "node:fs/promises";
import type { RemedyResult } from "@lameduck/accounting";
import type { Pod } from "@lameduck/kube";
import { injectedAnnotation } from "@lameduck/protocol";
import { requireInit, requireSoftware, type Cluster } from "../cluster/index.ts";
import { listed, named, onCluster, positive, runMain, say } from "../program.ts";
import { apply } from "../test/support.ts";
import { tableText } from "../matrix/kept.ts";
import { routes, type RouteName } from "../matrix/routes.ts";
import { runScenario } from "../matrix/run.ts";
import { commandLine } from "../../scripts/command-line.ts";
import { callingDuring, callsText, type Calls } from "./calls.ts";
import { deliverImage, injects, installed, ways, type Way } from "./installation.ts";
import { happensIn, situations, type Situation } from "./situations.ts";
import { configuration, software } from "./software.ts";

const { values } = commandLine(import.meta.url, {
  options: {
    software: { type: "string", default: Object.keys(software).join(",") },
    ways: { type: "string", default: ways.join(",") },
    routes: { type: "string", default: "cluster-ip" },
    situations: { type: "string", default: "rollout" },
    times: { type: "string", default: "2" },
    minutes: { type: "string", default: "60" },
    replicas: { type: "string", default: "10" },
    rps: { type: "string", default: "80" },
    surge: { type: "string", default: "50%" },
    unavailable: { type: "string", default: "0" },
    "proxy-lag": { type: "string", default: "1s,1s,2s,5s,10s" },
    attach: { type: "boolean", default: false },
    keep: { type: "string" },
  },
});

/** Finds wrong names and numbers before anything is started. */
const wantedOf = () => ({
  software: listed("--software", values.software, Object.keys(software)),
  ways: listed("--ways", values.ways, ways),
  routes: listed("--routes", values.routes, Object.keys(routes) as RouteName[]),
  situations: named("--situations", values.situations, situations),
  times: positive("--times", values.times),
  withinMs: positive("--minutes", values.minutes) * 60_000,
  replicas: positive("--replicas", values.replicas),
  requestsPerSecond: positive("--rps", values.rps),
});

type Wanted = ReturnType<typeof wantedOf>;

interface Row {
  readonly way: Way;
  readonly software: string;
  readonly route: RouteName;
  readonly situation: string;
  readonly result: RemedyResult;
  /** To the API server meanwhile. */
  readonly calls: readonly Calls[];
}

async function measure(cluster: Cluster, wanted: Wanted): Promise<Row[]> {
  const rows: Row[] = [];
  await apply(cluster, configuration);
  if (wanted.ways.includes("webhook")) await deliverImage(cluster);
  for (const way of wanted.ways)
    for (const route of wanted.routes)
      for (const situation of wanted.situations)
        for (const name of happensIn(situation, way) ? wanted.software : [])
          try {
            await prepare(cluster, way, situation);
            const measured = await one(cluster, wanted, name, route, situation, way);
            rows.push({ way, software: name, route, situation: situation.name, ...measured });
            if (values.keep !== undefined) await writeFile(values.keep, JSON.stringify(rows, undefined, 1));
          } catch (error) {
            // A long measurement goes on; what failed is no row.
            say(`${name} ${way} ${route} ${situation.name}: ${String(error)}`);
            process.exitCode = 3;
          }
  return rows;
}

async function prepare(cluster: Cluster, way: Way, { install }: Situation): Promise<void> {
  await (install === undefined ? installed(cluster, way) : install(cluster));
  await injects(cluster, way);
}

async function one(
  cluster: Cluster,
  { times, withinMs, replicas, requestsPerSecond }: Wanted,
  name: string,
  route: RouteName,
  scenario: Situation,
  way: Way,
): Promise<Pick<Row, "result" | "calls">> {
  const plain = software[name];
  if (plain === undefined) throw new Error(`no software ${name}`);
  const calls: Calls[] = [];
  const { result } = await runScenario(cluster, {
    remedy: { ...plain, name: `${name}, ${way}` },
    scenario: {
      ...scenario,
      run: async (stage) => {
        say(`  ${await injectedPods(cluster)} pods are injected`);
        const seen = await callingDuring(cluster, () => scenario.run(stage));
        say(`  ${callsText(seen)}`);
        calls.push(seen);
      },
    },
    route,
    times,
    withinMs,
    replicas,
    requestsPerSecond,
    rolling: { surge: values.surge, unavailable: values.unavailable },
    say,
  });
  return { result, calls };
}

/** Those that are about to be ended. */
async function injectedPods(cluster: Cluster): Promise<string> {
  const pods = await cluster.api.list<Pod>("/api/v1/namespaces/default/pods?labelSelector=app%3Dweb");
  const injected = pods.filter(({ metadata }) => metadata.annotations?.[injectedAnnotation] !== undefined);
  return `${injected.length} of ${pods.length}`;
}

function report(rows: readonly Row[]): void {
  const groups = Map.groupBy(rows, ({ route, situation }) => `${situation}, through ${routes[route]}`);
  for (const [title, own] of groups)
    process.stdout.write(
      tableText(
        title,
        own.map(({ result }) => result),
      ),
    );
}

await runMain(async () => {
  const wanted = wantedOf();
  await requireInit(["x64", "arm64"]);
  await requireSoftware([...wanted.software, ...wanted.routes]);
  const options = { nodes: 5, proxyLag: values["proxy-lag"].split(",") };
  report(await onCluster(values.attach, options, (cluster) => measure(cluster, wanted)));
});
