import { setTimeout as sleep } from "node:timers/promises";
import {
  account,
  runClock,
  type RemedyResult,
  type RequestRecord,
  type RunRecording,
} from "@lameduck/accounting";
import { cacheDirectory } from "../cluster/host/paths.ts";
import { buildGoClient } from "../cluster/host/programs.ts";
import { until, type Cluster } from "../cluster/index.ts";
import { deployment, service } from "../cluster/workload.ts";
import { apply } from "../test/support.ts";
import { Fleet, type Retried } from "./load/fleet.ts";
import type { ClientKind, Numbered } from "./load/plan.ts";
import { PhaseObserver } from "./observe/phases.ts";
import { PodObserver } from "./observe/pods.ts";
import { ProxyObserver, type Sender } from "./observe/proxies.ts";
import { graceSeconds, type ClusterRemedy } from "./remedies.ts";
import { openRoute } from "./open-route.ts";
import { headlessName, senderName, type RouteName } from "./routes.ts";
import type { Scenario } from "./scenarios.ts";

/** maxSurge and maxUnavailable of the Deployment, as numbers or percentages. */
export interface Rolling {
  readonly surge: string;
  readonly unavailable: string;
}

export interface RunOptions {
  /** Of the Deployment and its Services: several scenarios run at once under names of their own. */
  readonly app?: string;
  readonly remedy: ClusterRemedy;
  readonly scenario: Scenario;
  /** How often the scenario is run in a row; the load goes on throughout. */
  readonly times: number;
  /** No repetition begins after so many milliseconds of load. */
  readonly withinMs?: number;
  readonly replicas: number;
  readonly requestsPerSecond: number;
  readonly rolling?: Rolling;
  /** Share of requests on kept-alive connections; half of them unless given. */
  readonly pooledShare?: number;
  /** How clients keep connections; each source has one of each kind. As Node keeps them unless given. */
  readonly clientKinds?: readonly ClientKind[];
  /** limits.cpu of the pods. */
  readonly cpuLimit?: string;
  /** Load before each repetition, that its pods have seen some; three seconds before the first unless given. */
  readonly warmUpMs?: number;
  readonly route: RouteName;
  /** The oracle is that of everybody who may send, also where the route's requests come from an ingress alone. */
  readonly countsAllSenders?: boolean;
  readonly say: (line: string) => void;
}

/** Lags seen from a pod's deletion until a sender no longer chose it, per sender, milliseconds. */
export interface Lag {
  readonly sender: string;
  readonly count: number;
  readonly p50: number;
  readonly max: number;
}

export interface RunResult {
  readonly result: RemedyResult;
  readonly recording: Omit<RunRecording, "records"> & { readonly records: readonly Numbered[] };
  readonly lags: readonly Lag[];
  readonly reconnects: number;
  readonly retried: Retried;
}

/** Of every kind of request so many take the app 300 ms. */
const slowShare = 0.05;
const warmUpMs = 3_000;
/** The load ends by itself then, whatever becomes of the run: five times what 300 terminations take. */
const longestLoadSeconds = 3_000;

/** Deploys the sample server with a remedy, runs a scenario under load, and accounts for every lost request. */
export async function runScenario(cluster: Cluster, options: RunOptions): Promise<RunResult> {
  const { app = "web", remedy, scenario, replicas, say, pooledShare = 0.5, clientKinds } = options;
  const clock = runClock();
  await using stack = new AsyncDisposableStack();
  stack.defer(() => removeApp(cluster, app));
  const pods = stack.use(await PodObserver.start(cluster, app, clock));
  const phases = stack.use(new PhaseObserver(cluster, app, clock));
  await deploy(cluster, app, options);
  await until(() => Promise.resolve(pods.available === replicas), {
    what: `${replicas} pods of ${remedy.name} available`,
    timeoutMs: 120_000,
  });
  const knowing = (senders: Iterable<Sender>): Promise<unknown> =>
    until(() => Promise.resolve([...senders].every(({ reaches }) => reaches.size === replicas)), {
      what: "every sender to know every pod",
      timeoutMs: 60_000,
    });
  const proxies = cluster.nodeNames.map((node) =>
    stack.use(
      new ProxyObserver(cluster, {
        node,
        sender: senderName(cluster, node),
        clock,
        port: 8080,
        podAt: (ip) => pods.podAt(ip),
      }),
    ),
  );
  const route = stack.use(await openRoute(options.route, { cluster, clock, app, pods, proxies }));
  // No load before every node has the Service's rules. While kube-proxy writes them for the first time, connections pass that are
  // translated to no pod, and the kernel remembers that for two minutes: who gets the same local port again meanwhile is lost with it.
  await knowing(proxies);
  const fleet = new Fleet(cluster, {
    clock,
    sources: route.sources,
    newPerSecond: options.requestsPerSecond * (1 - pooledShare),
    pooledPerSecond: options.requestsPerSecond * pooledShare,
    slowShare,
    maxSeconds: longestLoadSeconds,
    podAt: (address) => pods.podAt(address),
    ...(clientKinds === undefined ? {} : { clientKinds }),
    ...(clientKinds?.includes("go") ? { goClient: await buildGoClient(cacheDirectory()) } : {}),
  });
  stack.defer(() => fleet.kill());
  const choosing: readonly Sender[] = route.chooses
    ? [route.chooses].flat()
    : fleet.clients.length > 0
      ? fleet.clients
      : proxies;
  const senders = new Set([...proxies, ...choosing]);
  await knowing(senders);
  await sleep(options.warmUpMs ?? warmUpMs);
  const countedFrom = clock.now();
  for (let time = 1; time <= options.times; time++) {
    if (clock.now() - countedFrom > (options.withinMs ?? Infinity)) break;
    if (time > 1) await sleep(options.warmUpMs ?? 0);
    pods.why = scenario.name;
    await scenario.run({ cluster, pods, app, replicas, load: fleet });
    say(`  ${scenario.name} ${remedy.name} ${time}/${options.times}: ${fleet.sent} requests so far`);
  }
  // Senders that have not converged yet still lose requests.
  const gone = new Set(pods.timeline.filter(({ type }) => type === "gone").map(({ pod }) => pod));
  await until(
    () => Promise.resolve([...senders].every(({ reaches }) => [...reaches].every((pod) => !gone.has(pod)))),
    { what: "every sender to have let go of the pods that are gone", timeoutMs: 60_000 },
  );
  await sleep(1_000);
  const ended = clock.now();
  const sent = await fleet.stop();
  const records = (await route.retell?.(sent)) ?? sent;
  if (route.retell !== undefined)
    say(`  the ingress opened a connection for ${opened(records)} of ${records.length} requests`);
  const counted = records.filter(({ intended }) => intended >= countedFrom && intended <= ended);
  const recording: RunResult["recording"] = {
    remedy: remedy.name,
    records,
    podEvents: [...pods.timeline, ...phases.events].sort((a, b) => a.at - b.at),
    senderEvents: [...(options.countsAllSenders ? senders : choosing)].flatMap(({ events }) => events),
    countedFrom,
    scheduled: counted.length,
    ended,
  };
  return {
    result: account(recording, { description: remedy.description, seed: 1, timeline: false }),
    recording,
    lags: lagsOf(recording),
    reconnects: pods.reconnects,
    retried: fleet.retried,
  };
}

const opened = (records: readonly RequestRecord[]): number =>
  records.filter(({ mode }) => mode === "new").length;

async function deploy(
  cluster: Cluster,
  app: string,
  { remedy, scenario, route, replicas, rolling, cpuLimit }: RunOptions,
): Promise<void> {
  const { environment, fields, ...rest } = remedy.pod;
  const objects = [
    // Services first: a webhook that looks for what leads to a pod sees none where they come later.
    service(app, { type: "NodePort" }),
    // Only where it is used: clients that may have resolved it are senders of the pod, too.
    ...(route === "headless" ? [service(headlessName(app), { headless: true, selects: app })] : []),
    deployment({
      name: app,
      replicas,
      gracePeriodSeconds: graceSeconds,
      ...(rolling === undefined ? {} : { strategy: strategyOf(rolling) }),
      ...(cpuLimit === undefined ? {} : { cpuLimit }),
      ...scenario.pod,
      ...rest,
      environment: { SLOW_MS: "300", ...scenario.pod?.environment, ...environment },
      fields: { ...scenario.pod?.fields, ...fields },
    }),
  ];
  await apply(cluster, ...objects);
}

function strategyOf({ surge, unavailable }: Rolling): object {
  const count = (text: string): string | number => (text.endsWith("%") ? text : Number(text));
  return { rollingUpdate: { maxSurge: count(surge), maxUnavailable: count(unavailable) } };
}

async function removeApp(cluster: Cluster, app: string): Promise<void> {
  await cluster.kubectl([
    "delete",
    `deployment/${app}`,
    `service/${app}`,
    `service/${headlessName(app)}`,
    "--ignore-not-found",
    "--wait=false",
  ]);
  await cluster.kubectl(["delete", "pods", "-l", `app=${app}`, "--grace-period=1", "--ignore-not-found"]);
}

function lagsOf({ podEvents, senderEvents, countedFrom }: RunRecording): Lag[] {
  const deletions = new Map(
    podEvents.filter(({ type }) => type === "deleted").map(({ pod, at }) => [pod, at]),
  );
  const bySender = Map.groupBy(
    senderEvents.filter(({ type, at }) => type === "converged" && at >= countedFrom),
    ({ sender }) => sender,
  );
  return [...bySender].map(([sender, events]) => {
    // The last time counts: a pod that was unready for a moment was let go of and taken up again before.
    const last = new Map(events.map((event) => ["pod" in event ? event.pod : "", event.at]));
    const lags = [...last]
      .flatMap(([pod, at]) => {
        const deleted = deletions.get(pod);
        return deleted === undefined ? [] : [Math.max(0, at - deleted)];
      })
      .sort((a, b) => a - b);
    return { sender, count: lags.length, p50: lags[lags.length >> 1] ?? 0, max: lags.at(-1) ?? 0 };
  });
}
