import { hasStatus, type KubernetesClient, type KubernetesObject, orUndefined } from "@lameduck/kube";
import { environmentOf } from "@lameduck/senders";
import { inBatches } from "../install/objects.ts";
import { type ClusterRead, containersOf } from "../cluster/reading.ts";
import type { NotKnown } from "./not-known.ts";

/** Something that ends nodes, and how long it waits for their pods. */
export interface Autoscaler {
  /** "cluster-autoscaler", "Karpenter, NodePool spot", "the kubelet, at a shutdown of its node (3 nodes of Linux)" */
  readonly who: string;
  /** How long it waits for a pod at most; undefined where it waits for as long as the pod takes. */
  readonly seconds: number | undefined;
  readonly source: string;
}

/** `--max-graceful-termination-sec` of the cluster autoscaler, unless given. */
const usualAutoscalerSeconds = 600;
const limitFlag = /^--max-graceful-termination-sec=(\d+)$/;

export async function autoscalersOf(
  client: KubernetesClient,
  read: ClusterRead,
  signal: AbortSignal,
): Promise<{ readonly autoscalers: Autoscaler[]; readonly notKnown: NotKnown[] }> {
  const notKnown: NotKnown[] = [];
  const own = clusterAutoscalers(read);
  const karpenter = await karpenterPools(client, notKnown, signal);
  const kubelets = await nodeShutdowns(client, read, notKnown, signal);
  const managed = [...new Set(read.nodes.map((one) => environmentOf(one)))].filter((one) => one.scalesItself);
  if (managed.length > 0 && own.length + karpenter.length === 0)
    notKnown.push({
      what: `how long the autoscaler of ${managed.map(({ name }) => name).join(", ")} waits for pods`,
      because: `the cloud runs it, and no object shows it; cluster autoscalers wait ${usualAutoscalerSeconds} s unless told otherwise`,
    });
  return { autoscalers: [...own, ...karpenter, ...kubelets], notKnown };
}

function clusterAutoscalers({ workloads }: ClusterRead): Autoscaler[] {
  return workloads.flatMap(({ namespace, name, pod }) => {
    const container = containersOf(pod).find(
      (one) => one.name.includes("cluster-autoscaler") || /\/cluster-autoscaler[^/]*$/.test(one.image ?? ""),
    );
    if (container === undefined) return [];
    const words = [...(container.command ?? []), ...(container.args ?? [])];
    const given = words.flatMap((word) => limitFlag.exec(word)?.[1] ?? [])[0];
    return [
      {
        who: `cluster-autoscaler (${namespace}/${name})`,
        seconds: given === undefined ? usualAutoscalerSeconds : Number(given),
        source: given === undefined ? "its default" : "--max-graceful-termination-sec",
      },
    ];
  });
}

interface NodePool extends KubernetesObject {
  readonly spec?: {
    readonly template?: { readonly spec?: { readonly terminationGracePeriod?: string } };
  };
}

async function karpenterPools(
  client: KubernetesClient,
  notKnown: NotKnown[],
  signal: AbortSignal,
): Promise<Autoscaler[]> {
  try {
    const group = await orUndefined(
      client.get<{ readonly preferredVersion?: { readonly version: string } }>("/apis/karpenter.sh", signal),
      404,
    );
    if (group === undefined) return [];
    const version = group.preferredVersion?.version ?? "v1";
    const pools = await client.list<NodePool>(`/apis/karpenter.sh/${version}/nodepools`, signal);
    return pools.map(({ metadata, spec }) => {
      const given = spec?.template?.spec?.terminationGracePeriod;
      return {
        who: `Karpenter, NodePool ${metadata.name}`,
        seconds: given === undefined ? undefined : secondsOf(given),
        source: given === undefined ? "no terminationGracePeriod is set" : `terminationGracePeriod: ${given}`,
      };
    });
  } catch (error) {
    if (!hasStatus(error, 403, 404)) throw error;
    notKnown.push({
      what: "how long Karpenter waits for pods",
      because: "its NodePools may not be listed",
      right: { group: "karpenter.sh", resource: "nodepools", verbs: ["list"], clusterWide: true },
    });
    return [];
  }
}

/** A duration of Go: "1h30m", "90s". */
function secondsOf(duration: string): number | undefined {
  const units = { h: 3_600, m: 60, s: 1 } as const;
  const parts = [...duration.matchAll(/(\d+(?:\.\d+)?)(h|m|s)(?![a-z])/g)];
  if (parts.length === 0) return undefined;
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * units[unit as keyof typeof units], 0);
}

interface KubeletSettings {
  readonly kubeletconfig?: {
    readonly shutdownGracePeriod?: string;
    readonly shutdownGracePeriodCriticalPods?: string;
    readonly shutdownGracePeriodByPodPriority?: readonly {
      readonly priority: number;
      readonly shutdownGracePeriodSeconds: number;
    }[];
  };
}

/** Kubelets that are asked of each kind of node: the others are set up like them, as a rule. */
const askedPerKind = 2;

/** What the kubelet leaves to ordinary pods when its node is shut down. */
async function nodeShutdowns(
  client: KubernetesClient,
  { nodes }: ClusterRead,
  notKnown: NotKnown[],
  signal: AbortSignal,
): Promise<Autoscaler[]> {
  const kinds = [...Map.groupBy(nodes, (one) => environmentOf(one))].filter(
    ([{ hasNoKubelet }]) => hasNoKubelet !== true,
  );
  const all = await inBatches(kinds, async ([{ name }, of]) => {
    const asked = of.slice(0, askedPerKind);
    const answers = await Promise.all(asked.map((node) => kubeletSettings(client, node.name, signal)));
    const known = answers.filter((one) => typeof one !== "string");
    const refused = answers.find((one) => typeof one === "string");
    if (refused !== undefined && known.length === 0) {
      notKnown.push({
        what: `what a shutdown of a node leaves to its pods (${name})`,
        because: refused,
        ...(refused === noRight ? { right: configzRight } : {}),
      });
      return [];
    }
    const least = Math.min(...known.map(({ kubeletconfig = {} }) => leftToPods(kubeletconfig)));
    const who = `the kubelet, at a shutdown of its node (${name}; ${known.length} of ${of.length} asked)`;
    return [
      {
        who,
        seconds: least,
        source:
          least === 0
            ? "shutdownGracePeriod is 0: they end with their node, unless it is drained first"
            : "shutdownGracePeriod",
      },
    ];
  });
  return all.flat();
}

const noRight = "the kubelet's settings may not be read";
const configzRight = { group: "", resource: "nodes/proxy", verbs: ["get"], clusterWide: true } as const;

async function kubeletSettings(
  client: KubernetesClient,
  node: string,
  signal: AbortSignal,
): Promise<KubeletSettings | string> {
  try {
    const path = `/api/v1/nodes/${encodeURIComponent(node)}/proxy/configz`;
    return await client.get<KubeletSettings>(path, AbortSignal.any([signal, AbortSignal.timeout(5_000)]));
  } catch (error) {
    signal.throwIfAborted();
    return hasStatus(error, 401, 403) ? noRight : "the kubelet did not answer";
  }
}

/**
 * A kubelet may give each class of pods a time of its own. An ordinary pod has priority 0. It belongs to the highest class whose priority is 0 or
 * less. If no class has such a priority, the pod belongs to the lowest class.
 */
function leftToPods({
  shutdownGracePeriod = "0s",
  shutdownGracePeriodCriticalPods = "0s",
  shutdownGracePeriodByPodPriority: classes,
}: NonNullable<KubeletSettings["kubeletconfig"]>): number {
  const ascending = (classes ?? []).toSorted((a, b) => a.priority - b.priority);
  const ordinary = ascending.findLast(({ priority }) => priority <= 0) ?? ascending[0];
  if (ordinary !== undefined) return ordinary.shutdownGracePeriodSeconds;
  return Math.max(
    0,
    (secondsOf(shutdownGracePeriod) ?? 0) - (secondsOf(shutdownGracePeriodCriticalPods) ?? 0),
  );
}
