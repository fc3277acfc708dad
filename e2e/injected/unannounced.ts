/**
 * Measures terminations that no deletion announces: a node shuts down, a kubelet evicts pods, a liveness probe fails. Deployments with nothing, a
 * sleep, the library and the hook run side by side under load:
 *
 *     npm run unannounced -w e2e -- --situations shutdown,eviction,liveness --terminations 30
 *
 * A remedy whose name ends in `-withdrawn` has the webhook installed. The webhook takes pods out of their Service when their node shuts down.
 * The program brings a cluster up and takes it down again. --attach uses the cluster of `npm run cluster:up`. Node shutdowns need dbus and python3-dbusmock.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { runClock, type RequestRecord } from "@lameduck/accounting";
import { isReady, type Event, type Pod } from "@lameduck/kube";
import { commandLine } from "../../scripts/command-line.ts";
import { follow, requireInit, until, type Cluster, type Manifest } from "../cluster/index.ts";
import { Logind, type ShutdownPeriods } from "../cluster/logind.ts";
import { overfill, scratchVolume } from "../conformance/scenario.ts";
import { deployment, service, type ServerOptions } from "../cluster/workload.ts";
import { Fleet, isLost } from "../matrix/load/fleet.ts";
import { clusterIp } from "../matrix/open-route.ts";
import { clusterRemedy } from "../matrix/remedies.ts";
import { listed, onCluster, positive, runMain, say } from "../program.ts";
import { apply } from "../test/support.ts";
import { deliverImage, installedByHelm } from "./installation.ts";

/** Behind the name of a Deployment whose pods the webhook withdraws when their node shuts down. */
const withdrawn = "-withdrawn";
/** By the name of the Deployment: the pods of the matrix with this remedy. `readiness`: the library, and its readiness fails from SIGTERM on. */
const remedies: Readonly<Record<string, Partial<ServerOptions>>> = {
  nothing: podOf("close"),
  sleep: podOf("sleep-15"),
  library: podOf("adaptive"),
  hook: podOf("init-wait"),
  readiness: { environment: { ...podOf("adaptive").environment, SHUTDOWN: "lameduck-unready" } },
};
const situations = ["shutdown", "eviction", "liveness"] as const;
type Situation = (typeof situations)[number];

function podOf(remedy: string): Partial<ServerOptions> {
  return clusterRemedy(remedy)?.pod ?? {};
}

const { values } = commandLine(import.meta.url, {
  options: {
    situations: { type: "string", default: situations.join(",") },
    // Deployments that run side by side
    remedies: { type: "string", default: "nothing,sleep,library,hook" },
    // of each Deployment in each situation, at least
    terminations: { type: "string", default: "30" },
    // minutes of each situation; nothing begins after that time
    minutes: { type: "string", default: "60" },
    // pods of each Deployment
    replicas: { type: "string", default: "9" },
    // requests per second to each Deployment
    rps: { type: "string", default: "40" },
    "proxy-lag": { type: "string", default: "1s,2s,5s" },
    attach: { type: "boolean", default: false },
  },
});

const names = values.remedies.split(",");
const pods = "/api/v1/namespaces/default/pods";
const events = "/api/v1/namespaces/default/events";
/** Where the kubelet's seconds of the critical pods do not matter. */
const criticalSeconds = 2;

function manifestOf(name: string): Manifest {
  const { environment, fields = {}, ...rest } = remedies[name.replace(withdrawn, "")] ?? {};
  const made = deployment({
    name,
    replicas: positive("--replicas", values.replicas),
    livenessProbe: { httpGet: { path: "/livez", port: 8080 }, periodSeconds: 1, failureThreshold: 2 },
    // All of them fit onto two nodes.
    cpuRequest: "20m",
    volumes: [scratchVolume],
    volumeMounts: [{ name: scratchVolume.name, mountPath: "/scratch" }],
    ...rest,
    environment: { SLOW_MS: "300", ...environment },
    fields,
  });
  const { spec } = made as unknown as {
    spec: { template: Record<"metadata" | "spec", Record<string, unknown>> };
  };
  // Each stays as it is, also where the webhook injects.
  spec.template.metadata["annotations"] = {
    "lameduck.dev/inject": "false",
    ...(name.endsWith(withdrawn) ? {} : { "lameduck.dev/held-deletions": "false" }),
  };
  spec.template.spec["topologySpreadConstraints"] = [
    {
      maxSkew: 1,
      topologyKey: "kubernetes.io/hostname",
      whenUnsatisfiable: "ScheduleAnyway",
      labelSelector: { matchLabels: { app: name } },
    },
  ];
  return made;
}

/** The Deployment of a pod, which may have lost its label. One name may begin with another. */
const appOf = (pod: string): string | undefined =>
  names.toSorted((one, other) => other.length - one.length).find((name) => pod.startsWith(`${name}-`));

interface Exit {
  readonly app: string;
  readonly code: number;
}

/** The pods of the Deployments, and how often the kubelet has begun to end each. */
class Watched implements AsyncDisposable {
  readonly #following: readonly { stop(): Promise<unknown> }[];
  readonly #pods: ReadonlyMap<string, Pod>;
  readonly #endings: ReadonlyMap<string, string>;
  readonly #exits: ReadonlyMap<string, Exit>;

  private constructor(
    all: ReadonlyMap<string, Pod>,
    endings: ReadonlyMap<string, string>,
    exits: ReadonlyMap<string, Exit>,
    following: readonly { stop(): Promise<unknown> }[],
  ) {
    this.#pods = all;
    this.#endings = endings;
    this.#exits = exits;
    this.#following = following;
  }

  static async start({ api }: Cluster): Promise<Watched> {
    const all = new Map<string, Pod>();
    const endings = new Map<string, string>();
    const exits = new Map<string, Exit>();
    const following = await Promise.all([
      follow<Pod>(api, pods, {}, ({ type, object }) => {
        const app = appOf(object.metadata.name);
        if (app === undefined) return;
        for (const { state, lastState } of object.status?.containerStatuses ?? [])
          for (const ended of [state?.terminated, lastState?.terminated])
            if (ended !== undefined)
              exits.set(`${object.metadata.uid}/${ended.finishedAt}`, { app, code: ended.exitCode });
        if (type === "gone") all.delete(object.metadata.name);
        else all.set(object.metadata.name, object);
      }),
      follow<Event & { readonly count?: number }>(api, events, {}, ({ object }) => {
        const { reason, metadata, count = 1 } = object;
        // Its name begins with that of the pod.
        const app = appOf(metadata.name);
        if (reason === "Killing" && app !== undefined) endings.set(`${metadata.name}/${count}`, app);
      }),
    ]);
    return new Watched(all, endings, exits, following);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#following.map((one) => one.stop()));
  }

  /** Pods that run and are in their Service, by Deployment. */
  running(name: string): Pod[] {
    return [...this.#pods.values()].filter(
      (pod) =>
        pod.metadata.labels?.["app"] === name && pod.metadata.deletionTimestamp === undefined && isReady(pod),
    );
  }

  /** Those that were taken out of their Service, too. */
  readyOn(node: string): number {
    return [...this.#pods.values()].filter((pod) => pod.spec.nodeName === node && isReady(pod)).length;
  }

  get busiestNode(): string {
    const counts = new Map<string, number>();
    for (const { spec } of names.flatMap((name) => this.running(name)))
      counts.set(spec.nodeName ?? "", (counts.get(spec.nodeName ?? "") ?? 0) + 1);
    return [...counts].toSorted(([, one], [, other]) => other - one)[0]?.[0] ?? "";
  }

  /** Containers that a kubelet has begun to end. */
  endings(name: string): number {
    return [...this.#endings.values()].filter((app) => app === name).length;
  }

  /** Programs that had not ended by themselves when their time was over. */
  killed(name: string): number {
    return [...this.#exits.values()].filter(({ app, code }) => app === name && code === 137).length;
  }

  /** All replicas are ready, and none is on its way out. */
  async settled(): Promise<void> {
    const wanted = positive("--replicas", values.replicas);
    await until(() => Promise.resolve(names.every((name) => this.running(name).length === wanted)), {
      what: `${wanted} ready pods of each Deployment`,
      timeoutMs: 180_000,
    });
  }
}

interface Acting {
  readonly cluster: Cluster;
  readonly watched: Watched;
  /** By node. */
  readonly logind: ReadonlyMap<string, Logind>;
}

const acts: Readonly<Record<Situation, (acting: Acting) => Promise<void>>> = {
  shutdown: async ({ watched, logind }) => {
    const node = watched.busiestNode;
    const own = logind.get(node);
    if (own === undefined) throw new Error(`no logind on ${node}`);
    await until(() => own.isDelayed(), { what: `the kubelet of ${node} to delay shutdowns` });
    await own.announce(true);
    await until(async () => !(await own.isDelayed()), { what: `${node} to shut down`, timeoutMs: 60_000 });
    // Those that were killed are told of a moment later; a machine that is off by then tells nothing.
    await until(() => Promise.resolve(watched.readyOn(node) === 0), { what: `pods of ${node} ended` });
    await own.cancel();
  },
  eviction: async ({ cluster, watched }) => {
    const chosen = names.flatMap((name) => watched.running(name).slice(0, 3));
    for (const { metadata, spec } of chosen) {
      await overfill(cluster, spec.nodeName ?? "", metadata.uid);
    }
    const uids = new Set(chosen.map(({ metadata }) => metadata.uid));
    const left = (): number =>
      names.flatMap((name) => watched.running(name)).filter(({ metadata }) => uids.has(metadata.uid)).length;
    await until(() => Promise.resolve(left() === 0), { what: "full pods evicted", timeoutMs: 120_000 });
  },
  liveness: async ({ cluster, watched }) => {
    const before = names.map((name) => watched.endings(name));
    // The kubelet waits the longer the more often a container was restarted.
    const restarts = ({ status }: Pod): number => status?.containerStatuses?.[0]?.restartCount ?? 0;
    const chosen = names.flatMap((name) =>
      watched
        .running(name)
        .toSorted((one, other) => restarts(one) - restarts(other))
        .slice(0, 3),
    );
    await Promise.all(
      chosen.map(({ metadata: { name } }) =>
        cluster.kubectl(["exec", name, "-c", "server", "--", "node", "-e", "process.kill(1, 'SIGUSR2')"]),
      ),
    );
    const begun = (): boolean =>
      names.every((name, index) => watched.endings(name) >= (before[index] ?? 0) + 3);
    await until(() => Promise.resolve(begun()), { what: "sick containers stopped", timeoutMs: 60_000 });
    // Until the last of them is no longer ready the endpoints say nothing.
    await sleep(32_000);
  },
};

/** What a node that shuts down leaves: 15 s to pods that are not critical. */
const periods: ShutdownPeriods = { seconds: 15 + criticalSeconds, criticalSeconds };

async function measure(cluster: Cluster, wanted: readonly Situation[]): Promise<void> {
  if (names.some((name) => name.endsWith(withdrawn))) {
    await deliverImage(cluster);
    await installedByHelm(cluster, "heldDeletions.enabled=true", "heldDeletions.nodeShutdowns=true");
  }
  // Looks at volumes each second, not each minute.
  for (const [index] of cluster.nodeNames.entries())
    await cluster.reconfigureKubelet(index + 1, { volumeStatsAggPeriod: "1s" });
  await using nodes = new AsyncDisposableStack();
  const logind = new Map<string, Logind>();
  if (wanted.includes("shutdown"))
    for (const node of cluster.nodeNames)
      logind.set(node, nodes.use(await Logind.start(cluster, node, periods)));
  await apply(cluster, ...names.map((name) => service(name)));
  await apply(cluster, ...names.map((name) => manifestOf(name)));
  await using watched = await Watched.start(cluster);
  await watched.settled();
  for (const situation of wanted) {
    const before = new Map(names.map((name) => [name, watched.endings(name)]));
    const ended = (name: string): number => watched.endings(name) - (before.get(name) ?? 0);
    const killed = new Map(names.map((name) => [name, watched.killed(name)]));
    const records = await underLoad(cluster, async () => {
      const latest = Date.now() + 60_000 * positive("--minutes", values.minutes);
      while (
        Date.now() < latest &&
        names.some((name) => ended(name) < positive("--terminations", values.terminations))
      ) {
        await acts[situation]({ cluster, watched, logind });
        await watched.settled();
        // The slowest proxy's lag: until then it may send to those that are gone.
        await sleep(6_000);
        say(`  ${situation}: ${names.map((name) => `${name} ${ended(name)}`).join(", ")}`);
      }
    });
    for (const name of names) {
      const own = records.filter(({ sender }) => sender === name);
      const lost = own.filter(isLost);
      const pooled = lost.filter(({ mode }) => mode === "pooled").length;
      const kinds = Map.groupBy(lost, ({ outcome }) => outcome);
      const how = [...kinds].map(([outcome, all]) => `${outcome} ${all.length}`).join(", ");
      process.stdout.write(
        `${situation}  ${name}  ${ended(name)} terminations, ${watched.killed(name) - (killed.get(name) ?? 0)} killed, ` +
          `${own.length} requests, ` +
          `lost ${lost.length - pooled} new, ${pooled} pooled${how === "" ? "" : ` (${how})`}\n`,
      );
    }
  }
}

async function underLoad(cluster: Cluster, act: () => Promise<void>): Promise<readonly RequestRecord[]> {
  const clock = runClock();
  const sources = await Promise.all(
    names.flatMap((name) =>
      // Each from all nodes: their proxies differ in their lag.
      cluster.nodeNames.map(async (machine) => ({
        machine,
        sender: name,
        url: await clusterIp(cluster, name),
      })),
    ),
  );
  const rate = positive("--rps", values.rps);
  const fleet = new Fleet(cluster, {
    clock,
    sources,
    newPerSecond: (rate * names.length) / 2,
    pooledPerSecond: (rate * names.length) / 2,
    slowShare: 0.05,
    maxSeconds: 1_800,
  });
  try {
    await sleep(5_000);
    await act();
    return await fleet.stop();
  } finally {
    fleet.kill();
  }
}

await runMain(async () => {
  await requireInit();
  const known = Object.keys(remedies);
  listed("--remedies", values.remedies, [...known, ...known.map((name) => `${name}${withdrawn}`)]);
  const wanted = listed("--situations", values.situations, situations);
  const proxyLag = values["proxy-lag"].split(",");
  await onCluster(values.attach, { nodes: proxyLag.length, proxyLag }, (cluster) => measure(cluster, wanted));
});
