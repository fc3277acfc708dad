/**
 * What one replica of the coordinator costs in a large cluster, on a real API server:
 *
 *     npm run acknowledged:scale -w e2e -- --nodes 5000 --pods 10000 --per-minute 1000 --minutes 3
 *     npm run acknowledged:scale -w e2e -- --nodes 5000 --pods 10000 --at-once 1000
 *
 * Nodes and pods are objects that nobody runs; kubelets, EndpointSlice controller and the nodes' consumers are simulated, each
 * consumer on a connection of its own. Each pod that terminates asks from its own address until it is released, or for 50 s. Prints JSON:
 * releases, what was not released and why, cores and memory of the coordinator. Ends with 1 where something was not released. Brings a
 * cluster of one node up for it and takes it down.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { chartEnvironment } from "@lameduck/operator/chart-environment";
import { operatorFiles } from "@lameduck/operator/image";
import { operatorNames } from "@lameduck/protocol";
import { parseAllDocuments } from "yaml";
import { apiPort, fabricAddress } from "../../cluster/network/addresses.ts";
import { until, type Cluster, type Manifest } from "../../cluster/index.ts";
import { onCluster, positive, runMain } from "../../program.ts";
import { apply } from "../../test/support.ts";
import { commandLine } from "../../../scripts/command-line.ts";
import type { DrivePlan } from "./drive.ts";
import { addressRange } from "./objects.ts";

const { values } = commandLine(import.meta.url, {
  options: {
    nodes: { type: "string", default: "5000" },
    pods: { type: "string", default: "10000" },
    "per-minute": { type: "string", default: "1000" },
    minutes: { type: "string", default: "3" },
    // end so many pods at one moment, instead of some each minute
    "at-once": { type: "string" },
    // milliseconds that a consumer takes to apply what it is told, from and to
    lag: { type: "string", default: "500-1500" },
  },
});

const { watcher } = operatorNames;
const installation = join(import.meta.dirname, "..", "..", "..", "docs", "install.yaml");

/** What the coordinator needs there: its resources' definitions, namespaces, and who consumers say they are. */
async function prepare(cluster: Cluster): Promise<void> {
  const documents = parseAllDocuments(await readFile(installation, "utf8")).map(
    (document) => document.toJS() as Manifest,
  );
  const account = { name: watcher.workload, namespace: watcher.namespace };
  await apply(
    cluster,
    ...documents.filter(({ kind }) => kind === "CustomResourceDefinition" || kind === "Namespace"),
    { apiVersion: "v1", kind: "Namespace", metadata: { name: watcher.namespace } },
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "hollow" } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: account },
  );
  await until(() => cluster.api.get("/api/v1/namespaces/hollow/serviceaccounts/default"), {
    what: "the namespace's service account",
  });
}

function wantedOf(): Omit<DrivePlan, "kubeconfig" | "operator" | "environment"> {
  const [least = "", most = ""] = values.lag.split("-");
  return {
    nodes: positive("--nodes", values.nodes),
    pods: positive("--pods", values.pods),
    lagMs: [positive("--lag", least), positive("--lag", most)],
    load:
      values["at-once"] === undefined
        ? {
            perMinute: positive("--per-minute", values["per-minute"]),
            minutes: positive("--minutes", values.minutes),
          }
        : { atOnce: positive("--at-once", values["at-once"]) },
  };
}

async function drive(cluster: Cluster, wanted: ReturnType<typeof wantedOf>): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), "lameduck-scale-"));
  try {
    await prepare(cluster);
    // Controllers would end what no kubelet reports of. The others would take processor time from what is measured.
    for (const one of ["controller-manager", "scheduler", "kubelet-1", "kube-proxy-1", "coredns"])
      await cluster.kill(one);
    // No watcher reports for the real node.
    await cluster.kubectl(["delete", "node", ...cluster.nodeNames]);
    await using edge = await cluster.openEdge();
    void edge;
    await cluster.inside("edge", ["ip", "route", "add", "local", addressRange, "dev", "lo"]);
    for (const [name, text] of await operatorFiles()) {
      await mkdir(dirname(join(directory, name)), { recursive: true });
      await writeFile(join(directory, name), text);
    }
    const kubeconfig = join(directory, "kubeconfig");
    const inside = `https://${fabricAddress}:${apiPort}`;
    const outside = await readFile(cluster.kubeconfig, "utf8");
    await writeFile(kubeconfig, outside.replace(cluster.serverOutside, inside), { mode: 0o600 });
    const plan: DrivePlan = {
      kubeconfig,
      operator: join(directory, "lameduck-operator.cjs"),
      environment: chartEnvironment("coordinator"),
      ...wanted,
    };
    const command = [process.execPath, join(import.meta.dirname, "drive.ts"), JSON.stringify(plan)];
    const { program, args } = cluster.commandInside("edge", command);
    const child = spawn(program, args, { stdio: ["ignore", "inherit", "inherit"] });
    const [code] = (await once(child, "exit")) as [number | null];
    return code ?? 3;
  } finally {
    await rm(directory, { recursive: true });
  }
}

await runMain(() => {
  const wanted = wantedOf();
  return onCluster(false, { nodes: 1 }, (cluster) => drive(cluster, wanted));
});
