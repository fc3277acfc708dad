import { architecturesOf } from "@lameduck/webhook";
import { policyName, type ClusterFacts } from "@lameduck/inject";
import { orUndefined, type KubernetesClient, type Node } from "@lameduck/kube";
import { apiPath } from "@lameduck/protocol";
import { version } from "../about.ts";

/** What the cluster says of itself, as far as it may be read. */
export async function factsOf(
  client: KubernetesClient,
  signal: AbortSignal,
): Promise<Omit<ClusterFacts, "exposedBy">> {
  const found = await client.get<{ major?: string; minor?: string }>("/version", signal);
  const [major, minor] = [found.major ?? "", found.minor ?? ""].map((text) => Number.parseInt(text, 10));
  const nodes = await ifReadable(client.list<Node>("/api/v1/nodes", signal));
  return {
    lameduckVersion: version(),
    version: major && minor ? { major, minor } : undefined,
    convergenceSeconds: undefined,
    architectures: nodes && architecturesOf(nodes.flatMap(processorOf)),
  };
}

const processorOf = ({ metadata }: Node): string[] => {
  const name = metadata.labels?.["kubernetes.io/arch"];
  return name === undefined ? [] : [name];
};

/** The DrainPolicy that holds in a namespace; undefined where there is none. */
export function policyOf(client: KubernetesClient, namespace: string, signal: AbortSignal): Promise<unknown> {
  return ifReadable(client.get(`${apiPath}/namespaces/${namespace}/drainpolicies/${policyName}`, signal));
}

/** Undefined for what does not exist or may not be read. */
export function ifReadable<T>(answer: Promise<T>): Promise<T | undefined> {
  return orUndefined(answer, 403, 404);
}
