import { spawn } from "node:child_process";
import { messageOf } from "@lameduck/drain/common";
import { attempt, type Outcome } from "../cluster/host/run.ts";
import { Cluster, type ClusterOptions, type Manifest } from "../cluster/index.ts";
import { podFields } from "../cluster/workload.ts";

/** Progress only when asked for: E2E_VERBOSE=1. */
export function quietCluster(options: ClusterOptions): Promise<Cluster> {
  return Cluster.up(process.env["E2E_VERBOSE"] === "1" ? options : { ...options, say: () => undefined });
}

export async function apply(cluster: Cluster, ...objects: readonly Manifest[]): Promise<void> {
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
  const once = (): Promise<string> => cluster.kubectl(["apply", "-f", "-"], list);
  await once().catch((error: unknown) => {
    // kubectl looks first and makes then: a controller may have made the same between, as it makes each namespace's ServiceAccount.
    if (!/AlreadyExists/.test(messageOf(error))) throw error;
    return once();
  });
}

/** Runs a server where pods reach the API server, too, until it is aborted. */
export function serveInFabric(cluster: Cluster, command: readonly string[]): AbortController {
  const stop = new AbortController();
  const { program, args } = cluster.commandInside("fabric", command);
  spawn(program, args, { stdio: "ignore", signal: stop.signal }).on("error", () => undefined);
  return stop;
}

export async function rolledOut(cluster: Cluster, deployment: string): Promise<void> {
  await cluster.kubectl(["rollout", "status", `deployment/${deployment}`, "--timeout=90s"]);
}

/** As an operator takes a node out of service. It may fail. */
export function drain(cluster: Cluster, node: string, timeout: string): Promise<Outcome> {
  const { kubeconfig } = cluster;
  const options = ["--ignore-daemonsets", "--delete-emptydir-data", `--timeout=${timeout}`];
  return attempt(cluster.program("kubectl"), ["--kubeconfig", kubeconfig, "drain", node, ...options]);
}

/** Fetches a URL `times` times in the network namespace of a node, a new connection each, and returns the bodies. */
export async function fetchFrom(
  cluster: Cluster,
  machine: string,
  url: string,
  times = 1,
): Promise<string[]> {
  const program = `
    const results = [];
    for (let i = 0; i < ${times}; i++) {
      const response = await fetch(${JSON.stringify(url)}, { headers: { connection: "close" }, signal: AbortSignal.timeout(5000) });
      results.push((await response.text()).trim());
    }
    process.stdout.write(JSON.stringify(results));`;
  const output = await cluster.inside(machine, [process.execPath, "--input-type=module", "-e", program]);
  return JSON.parse(output) as string[];
}

export function podNames(cluster: Cluster, app: string): Promise<string[]> {
  return podFields(cluster, app, "metadata.name");
}
