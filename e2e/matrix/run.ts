import { setTimeout as sleep } from "node:timers/promises";
import { account, runClock, type RemedyResult, type RunRecording } from "@lameduck/rollout";
import { until, type Cluster } from "../cluster/index.ts";
import { deployment, service } from "../cluster/workload.ts";
import { Fleet, type Source } from "./load/fleet.ts";
import { PhaseObserver } from "./observe/phases.ts";
import { PodObserver } from "./observe/pods.ts";
import { ProxyObserver } from "./observe/proxies.ts";
import { graceSeconds, type ClusterRemedy } from "./remedies.ts";
import { nodeAddress } from "../cluster/addresses.ts";
import { ingressNode, type Ingress } from "../ingress/ingress.ts";
import { startIngress, type RouteName } from "./routes.ts";
import type { Scenario } from "./scenarios.ts";

export interface RunOptions {
  readonly remedy: ClusterRemedy;
  readonly scenario: Scenario;
  /** How often the scenario is run in a row; the load goes on throughout. */
  readonly times: number;
  /** No repetition begins after so many milliseconds of load. */
  readonly withinMs?: number;
  readonly replicas: number;
  readonly requestsPerSecond: number;
  /** Share of requests on kept-alive connections; half of them unless given. */
  readonly pooledShare?: number;
  readonly route: RouteName;
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
  readonly recording: RunRecording;
  readonly lags: readonly Lag[];
  readonly reconnects: number;
}

const app = "web";
/** Of every kind of request so many take the app 300 ms. */
const slowShare = 0.05;
const warmUpMs = 3_000;

/** Deploys the sample server with a remedy, runs a scenario under load, and accounts for every lost request. */
export async function runScenario(cluster: Cluster, options: RunOptions): Promise<RunResult> {
  const { remedy, scenario, replicas, say, pooledShare = 0.5 } = options;
  const clock = runClock();
  await using stack = new AsyncDisposableStack();
  stack.defer(() => removeApp(cluster));
  const pods = stack.use(new PodObserver(cluster, app, clock));
  const phases = stack.use(new PhaseObserver(cluster, clock));
  await deploy(cluster, remedy, scenario, replicas);
  await until(() => Promise.resolve(pods.available === replicas), {
    what: `${replicas} pods of ${remedy.name} available`,
    timeoutMs: 120_000,
  });
  const starting = startIngress(options.route, cluster, clock, app);
  const ingress = starting === undefined ? undefined : stack.use(await starting);
  // An ingress that sends to the pods itself must know them all; one that sends to the Service knows none.
  const direct = options.route === "haproxy" || options.route === "nginx";
  await until(() => Promise.resolve(!direct || ingress?.reaches.size === replicas), {
    what: "the ingress to know every pod",
  });
  const sources = await sourcesOf(cluster, options.route, ingress);
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
  await until(() => Promise.resolve(proxies.every(({ reaches }) => reaches.size === replicas)), {
    what: "every kube-proxy to know every pod",
    timeoutMs: 60_000,
  });
  const fleet = new Fleet(cluster, {
    clock,
    sources,
    newPerSecond: options.requestsPerSecond * (1 - pooledShare),
    pooledPerSecond: options.requestsPerSecond * pooledShare,
    slowShare,
    maxSeconds: 600,
    podAt: (address) => pods.podAt(address),
  });
  stack.defer(() => fleet.kill());
  await sleep(warmUpMs);
  const countedFrom = clock.now();
  for (let time = 1; time <= options.times; time++) {
    if (clock.now() - countedFrom > (options.withinMs ?? Infinity)) break;
    pods.why = scenario.name;
    await scenario.run({ cluster, pods, app, replicas });
    say(`  ${scenario.name} ${remedy.name} ${time}/${options.times}: ${fleet.sent} requests so far`);
  }
  // Senders that have not converged yet still lose requests.
  const gone = new Set(pods.timeline.filter(({ type }) => type === "gone").map(({ pod }) => pod));
  const senders = [...proxies, ...(ingress === undefined ? [] : [ingress])];
  await until(
    () => Promise.resolve(senders.every(({ reaches }) => [...reaches].every((pod) => !gone.has(pod)))),
    {
      what: "every sender to have let go of the pods that are gone",
      timeoutMs: 60_000,
    },
  );
  await sleep(1_000);
  const ended = clock.now();
  const records = await fleet.stop();
  const counted = records.filter(({ intended }) => intended >= countedFrom && intended <= ended);
  const senderEvents = (direct && ingress !== undefined ? [ingress] : proxies).flatMap(
    ({ events }) => events,
  );
  const recording: RunRecording = {
    remedy: remedy.name,
    records,
    podEvents: [...pods.timeline, ...phases.events].sort((a, b) => a.at - b.at),
    senderEvents,
    countedFrom,
    scheduled: counted.length,
    ended,
  };
  return {
    result: account(recording, { description: remedy.description, seed: 1, timeline: false }),
    recording,
    lags: lagsOf(recording),
    reconnects: pods.reconnects,
  };
}

const senderName = (cluster: Cluster, node: string): string => {
  const lag = cluster.settings.proxyLag[cluster.nodeNames.indexOf(node)] ?? "?";
  return `${node} (${lag})`;
};

/** Clients on a fast, a middling and the slowest node; a single client before an ingress, which then is the sender. */
async function sourcesOf(
  cluster: Cluster,
  route: RouteName,
  ingress: Ingress | undefined,
): Promise<Source[]> {
  const nodes = cluster.nodeNames;
  const last = nodes.at(-1) ?? "";
  if (ingress !== undefined) {
    const sender = route.endsWith("-service") ? senderName(cluster, ingressNode) : ingress.name;
    return [{ machine: last, sender, url: ingress.url }];
  }
  const field = route === "node-port" ? "{.spec.ports[0].nodePort}" : "{.spec.clusterIP}";
  const value = await cluster.kubectl(["get", "service", app, "-o", `jsonpath=${field}`]);
  const chosen = nodes.length < 4 ? nodes : [nodes[0] ?? "", nodes.at(-2) ?? "", last];
  return chosen.map((machine) => {
    const address = route === "node-port" ? `${nodeAddress(nodes.indexOf(machine) + 1)}:${value}` : value;
    return { machine, sender: senderName(cluster, machine), url: `http://${address}/` };
  });
}

async function deploy(
  cluster: Cluster,
  remedy: ClusterRemedy,
  scenario: Scenario,
  replicas: number,
): Promise<void> {
  const { environment, ...rest } = remedy.pod;
  const objects = [
    deployment({
      name: app,
      replicas,
      gracePeriodSeconds: graceSeconds,
      ...scenario.pod,
      ...rest,
      environment: { SLOW_MS: "300", ...environment },
    }),
    service(app, { type: "NodePort" }),
  ];
  await cluster.kubectl(
    ["apply", "-f", "-"],
    JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }),
  );
}

async function removeApp(cluster: Cluster): Promise<void> {
  await cluster.kubectl(["delete", "deployment,service", app, "--ignore-not-found", "--wait=false"]);
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
