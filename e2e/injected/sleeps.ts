/**
 * Measures a namespace of eight Deployments with the preStop sleeps that people write: all of them are rolled under load as they are, then with
 * holds in place of the sleeps:
 *
 *     npm run sleeps -w e2e -- --replicas 3 --rps 40
 *
 * It brings a cluster up and takes it down again; --attach uses the one of `npm run cluster:up`.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { runClock, type RequestRecord } from "@lameduck/accounting";
import { reportsOf, type DrainReport } from "@lameduck/coordinator";
import { isReady, type Pod } from "@lameduck/kube";
import { formerSleepIn } from "@lameduck/protocol";
import { commandLine } from "../../scripts/command-line.ts";
import { coordinatorReady, inject, install, watchersReady } from "../acknowledged/installation.ts";
import {
  follow,
  nodeImage,
  requireInit,
  requireSoftware,
  until,
  type Cluster,
  type Manifest,
} from "../cluster/index.ts";
import { deployment, service, type ServerOptions } from "../cluster/workload.ts";
import { Fleet, isLost } from "../matrix/load/fleet.ts";
import { clusterIp } from "../matrix/open-route.ts";
import { onCluster, positive, runMain, say } from "../program.ts";
import { apply } from "../test/support.ts";
import { injects, lameduck } from "./installation.ts";
import { configuration, software } from "./software.ts";

const { values } = commandLine(import.meta.url, {
  options: {
    replicas: { type: "string", default: "3" },
    rps: { type: "string", default: "40" },
    "proxy-lag": { type: "string", default: "1s,2s,5s" },
    attach: { type: "boolean", default: false },
  },
});

interface Sleeper {
  readonly hook: object;
  readonly graceSeconds: number;
  readonly server: Partial<ServerOptions>;
  /** A container beside the server, whose hook is the same. */
  readonly beside?: object;
}

const script = (text: string): object => ({ exec: { command: ["/bin/sh", "-c", text] } });
/** A server that closes at SIGTERM. */
const closing = { image: nodeImage, environment: { SHUTDOWN: "close" } };
const pod = (name: string): Partial<ServerOptions> => software[name]?.pod ?? {};

/** By the name of the Deployment. */
const sleepers: Readonly<Record<string, Sleeper>> = {
  action: { hook: { sleep: { seconds: 15 } }, graceSeconds: 30, server: closing },
  exec: { hook: { exec: { command: ["sleep", "10"] } }, graceSeconds: 30, server: closing },
  shell: { hook: script("sleep 15"), graceSeconds: 45, server: closing },
  told: {
    hook: script("echo 'this pod ends' > /proc/1/fd/1; sleep 20"),
    graceSeconds: 60,
    server: closing,
  },
  quit: { hook: script("sleep 10 && nginx -s quit"), graceSeconds: 60, server: pod("nginx") },
  signal: { hook: script("sleep 15; kill -USR1 1"), graceSeconds: 60, server: pod("haproxy") },
  long: {
    hook: script("set -e\n# the load balancer\nsleep 30\nexit 0\n"),
    graceSeconds: 60,
    server: closing,
  },
  front: {
    hook: script("sleep 15; nginx -s quit; while kill -0 1; do sleep 1; done"),
    graceSeconds: 45,
    server: pod("nginx"),
    beside: {
      name: "behind",
      image: nodeImage,
      args: ["/app/server.mjs"],
      env: [{ name: "PORT", value: "9000" }],
      lifecycle: { preStop: { sleep: { seconds: 15 } } },
    },
  },
};
const names = Object.keys(sleepers);

function manifestOf(name: string, { hook, graceSeconds, server, beside }: Sleeper): Manifest {
  const made = deployment({
    name,
    replicas: positive("--replicas", values.replicas),
    gracePeriodSeconds: graceSeconds,
    strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    ...server,
    lifecycle: { preStop: hook },
  });
  if (beside === undefined) return made;
  const { spec } = made as unknown as { spec: { template: { spec: { containers: object[] } } } };
  spec.template.spec.containers.push(beside);
  return made;
}

/** One rollout of all Deployments. */
interface Rolled {
  /** From the deletion until the object is gone, by Deployment. Milliseconds. */
  readonly took: ReadonlyMap<string, readonly number[]>;
  readonly records: readonly RequestRecord[];
}

async function roll(cluster: Cluster): Promise<Rolled> {
  const clock = runClock();
  const deleted = new Map<string, number>();
  const took = new Map<string, number[]>();
  const pods = await follow<Pod>(
    cluster.api,
    "/api/v1/namespaces/default/pods",
    { labelSelector: `app in (${names.join(",")})` },
    ({ type, object: { metadata }, at }) => {
      if (metadata.deletionTimestamp !== undefined && !deleted.has(metadata.name))
        deleted.set(metadata.name, at);
      const since = deleted.get(metadata.name);
      const name = metadata.labels?.["app"] ?? "";
      if (type === "gone" && since !== undefined) took.set(name, [...(took.get(name) ?? []), at - since]);
    },
  );
  try {
    const sources = await Promise.all(
      names.map(async (name, index) => ({
        machine: cluster.nodeNames[index % cluster.nodeNames.length] ?? "",
        sender: name,
        url: await clusterIp(cluster, name),
      })),
    );
    const rate = positive("--rps", values.rps);
    const fleet = new Fleet(cluster, {
      clock,
      sources,
      newPerSecond: rate / 2,
      pooledPerSecond: rate / 2,
      slowShare: 0,
      maxSeconds: 600,
    });
    try {
      await sleep(5_000);
      const before = await podUids(cluster);
      await cluster.kubectl(["rollout", "restart", ...names.map((name) => `deployment/${name}`)]);
      for (const name of names)
        await cluster.kubectl(["rollout", "status", `deployment/${name}`, "--timeout=240s"]);
      await until(async () => (await podUids(cluster)).every((uid) => !before.includes(uid)), {
        what: "the pods from before to be gone",
        timeoutMs: 180_000,
      });
      // The slowest proxy's lag: until then it may send to them.
      await sleep(6_000);
      return { took, records: await fleet.stop() };
    } finally {
      fleet.kill();
    }
  } finally {
    await pods.stop();
  }
}

async function podUids(cluster: Cluster): Promise<string[]> {
  const pods = await cluster.api.list<Pod>("/api/v1/namespaces/default/pods");
  return pods.map(({ metadata }) => metadata.uid ?? "");
}

async function replaceSleeps(cluster: Cluster): Promise<void> {
  await install(cluster, true);
  await inject(cluster, true);
  await apply(cluster, {
    apiVersion: "lameduck.dev/v1alpha1",
    kind: "DrainPolicy",
    metadata: { name: "default", namespace: "default" },
    spec: { existingSleep: "replace" },
  });
  await injects(cluster, "webhook");
  await coordinatorReady(cluster);
  await watchersReady(cluster);
  await cluster.kubectl(["rollout", "restart", ...names.map((name) => `deployment/${name}`)]);
  const replaced = async (): Promise<boolean> => {
    const pods = await cluster.api.list<Pod>("/api/v1/namespaces/default/pods");
    return pods.every((pod) => formerSleepIn(pod.metadata.annotations) !== undefined && isReady(pod));
  };
  await until(replaced, { what: "every pod to have a hold in place of its sleep", timeoutMs: 240_000 });
}

const mean = (all: readonly number[]): number => all.reduce((sum, one) => sum + one, 0) / all.length;
const seconds = (all: readonly number[] | undefined): string =>
  all === undefined || all.length === 0 ? "unknown" : `${(mean(all) / 1_000).toFixed(1)}s`;

async function measure(cluster: Cluster): Promise<void> {
  await apply(cluster, configuration, ...names.map((name) => service(name)));
  await apply(cluster, ...Object.entries(sleepers).map(([name, one]) => manifestOf(name, one)));
  for (const name of names)
    await cluster.kubectl(["rollout", "status", `deployment/${name}`, "--timeout=240s"]);
  say("as they are");
  const before = await roll(cluster);
  say("installing, and replacing the sleeps");
  await replaceSleeps(cluster);
  const since = Date.now();
  say("with holds in place of the sleeps");
  const after = await roll(cluster);
  // Records are written when the objects are gone.
  const count = [...after.took.values()].flat().length;
  const reports = await until(
    async () => {
      const all = await cluster.api.list<DrainReport>(reportsOf("default"));
      const own = all.filter(({ deletedAt }) => Date.parse(deletedAt) >= since - 1_000);
      return own.length >= count && own;
    },
    { what: `${count} records`, timeoutMs: 60_000 },
  );
  const lost = ({ records }: Rolled, name: string): string => {
    const own = records.filter(({ sender }) => sender === name);
    return `${own.filter(isLost).length} of ${own.length}`;
  };
  const rows = names.map((name) => {
    const own = reports.filter(({ workload }) => workload === `deployment/${name}`);
    const sleeps = own.flatMap(({ hold }) => hold.formerSleepMs ?? []);
    return [
      name,
      seconds(sleeps),
      seconds(own.flatMap(({ hold }) => hold.ms ?? [])),
      [...new Set(own.map(({ summary }) => summary.reason))].sort().join(", "),
      `${seconds(before.took.get(name))} -> ${seconds(after.took.get(name))}`,
      lost(before, name),
      lost(after, name),
    ];
  });
  const head = [
    "Deployment",
    "slept",
    "holds",
    "stop reasons",
    "deletion to end",
    "lost before",
    "lost after",
  ];
  const widths = head.map((_, at) => Math.max(...[head, ...rows].map((row) => (row[at] ?? "").length)));
  for (const row of [head, ...rows])
    process.stdout.write(
      `${row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join("  ")
        .trimEnd()}\n`,
    );
  const { out } = await lameduck(cluster, "status");
  process.stdout.write(
    `${out
      .split("\n")
      .filter((line) => /sleep/.test(line))
      .join("\n")}\n`,
  );
}

await runMain(async () => {
  await requireInit();
  await requireSoftware(["haproxy", "nginx"]);
  const proxyLag = values["proxy-lag"].split(",");
  await onCluster(values.attach, { nodes: proxyLag.length, proxyLag }, measure);
});
