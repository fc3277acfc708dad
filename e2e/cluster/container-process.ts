import type { Cluster } from "./cluster.ts";

export interface PodPlace {
  readonly name: string;
  /** Default: "default". */
  readonly namespace?: string;
  readonly node: string;
}

/** The process of a pod's first container, as its node numbers it: that node's containerd says. */
export async function processOf(
  cluster: Cluster,
  { name, namespace = "default", node }: PodPlace,
): Promise<string | undefined> {
  const field = "jsonpath={.status.containerStatuses[0].containerID}";
  const status = await cluster.kubectl(["get", "pod", name, "-n", namespace, "-o", field]);
  const id = status.replace("containerd://", "");
  const tasks = await cluster.inside(node, [cluster.program("ctr"), "-n", "k8s.io", "tasks", "ls"]);
  return tasks
    .split("\n")
    .map((line) => line.split(/\s+/))
    .find(([task]) => task === id)?.[1];
}
