import { processOf } from "../../cluster/container-process.ts";
import { until, nodeImage, type Cluster } from "../../cluster/index.ts";

/** A pod from whose network requests begin. */
export interface ClientPod {
  readonly name: string;
  readonly node: string;
  /** Puts a command of its node into its network. */
  readonly enter: readonly string[];
}

const label = "lameduck-client";

/** Client pods on the nodes named, ended with the run. */
export async function startClientPods(
  cluster: Cluster,
  nodes: readonly string[],
): Promise<{ readonly pods: readonly ClientPod[] } & AsyncDisposable> {
  const planned = nodes.map((node, index) => ({ name: `client-${index + 1}`, node }));
  const items = planned.map(({ name, node }) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { app: label } },
    spec: {
      nodeName: node,
      terminationGracePeriodSeconds: 1,
      containers: [{ name: "main", image: nodeImage, args: ["-e", "setInterval(() => {}, 1e9)"] }],
    },
  }));
  await cluster.kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  await cluster.kubectl(["wait", "--for=condition=Ready", "pod", "-l", `app=${label}`, "--timeout=60s"]);
  const pods = await Promise.all(
    planned.map(async ({ name, node }) => {
      const pid = await until(() => processOf(cluster, { name, node }), { what: `the process of ${name}` });
      return { name, node, enter: ["nsenter", "-t", pid, "--net", "--"] };
    }),
  );
  return {
    pods,
    [Symbol.asyncDispose]: async () => {
      await cluster.kubectl([
        "delete",
        "pod",
        "-l",
        `app=${label}`,
        "--grace-period=1",
        "--ignore-not-found",
      ]);
    },
  };
}
