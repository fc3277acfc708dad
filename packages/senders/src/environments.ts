/** What nodes are, as they show it themselves, and what follows for what Lameduck would run there. */
export interface NodeEnvironment {
  /** "AWS Fargate" */
  readonly name: string;
  /** For people. */
  readonly knownBy: string;
  readonly isOne: (node: SeenNode) => boolean;
  /** Why the watcher of a node cannot run there as it is installed; undefined where it can. */
  readonly noWatcher?: string;
  /** What else follows, for people. */
  readonly follows?: string;
  /** The cloud runs its autoscaler, which no object shows. */
  readonly scalesItself?: true;
  /** No node of the cluster's own: nobody shuts it down, and its kubelet cannot be asked. */
  readonly hasNoKubelet?: true;
  /** Where that comes from. */
  readonly source: string;
}

export interface SeenNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Keys. */
  readonly taints: readonly string[];
}

const images = "no image of Lameduck's is for this processor";

/** The first that fits a node counts. The last fits every node. */
export const environments = [
  {
    name: "Windows",
    knownBy: "`kubernetes.io/os: windows`",
    isOne: ({ labels }) => labels["kubernetes.io/os"] === "windows",
    noWatcher: "Lameduck's programs are for Linux",
    follows: "pods of Windows are not injected",
    source: "docs/operate/inject.md",
  },
  {
    name: "virtual nodes (virtual-kubelet, Azure, Oracle, Tencent)",
    knownBy:
      "`type: virtual-kubelet` or `kwok`, a taint `virtual-kubelet.io/...`, a label `.../virtual-node`, instance type `eklet`",
    isOne: ({ labels, taints }) =>
      ["virtual-kubelet", "kwok"].includes(labels["type"] ?? "") ||
      labels["node-role.kubernetes.io/virtual-node"] !== undefined ||
      labels["node.kubernetes.io/instance-type"] === "eklet" ||
      taints.includes("virtual-kubelet.io/provider"),
    noWatcher: "no DaemonSet runs there",
    hasNoKubelet: true,
    follows: "whether preStop hooks are run there is up to the provider",
    source: "Azure's page on virtual nodes: DaemonSets deploy no pods there",
  },
  {
    name: "AWS Fargate",
    knownBy: "`eks.amazonaws.com/compute-type: fargate`",
    isOne: ({ labels }) => labels["eks.amazonaws.com/compute-type"] === "fargate",
    noWatcher: "no DaemonSet, no host network and no privileged container runs there",
    hasNoKubelet: true,
    follows: "each pod has a node and a kube-proxy of its own, which nobody can ask",
    source: "AWS's page on Fargate, considerations",
  },
  {
    name: "GKE Autopilot",
    scalesItself: true,
    knownBy: "a name that begins with `gk3-`",
    isOne: ({ name }) => name.startsWith("gk3-"),
    noWatcher: "NET_RAW and the host's network are refused, unless Google has put the workload on its list",
    follows: "pods are chosen by Dataplane V2, which is Cilium; its agent is Google's and cannot be asked",
    source: "Google's pages on Autopilot's security, and on privileged workloads for Autopilot",
  },
  {
    name: "nodes of another processor",
    knownBy: "`kubernetes.io/arch` is neither amd64 nor arm64",
    isOne: ({ labels }) => !["amd64", "arm64", undefined].includes(labels["kubernetes.io/arch"]),
    noWatcher: images,
    follows: "injected pods hold by the kubelet's own sleep",
    source: "docs/operate/inject.md",
  },
  {
    name: "EKS Auto Mode",
    scalesItself: true,
    knownBy: "`eks.amazonaws.com/compute-type: auto`",
    isOne: ({ labels }) => labels["eks.amazonaws.com/compute-type"] === "auto",
    follows: "kube-proxy is no pod there, and shows by its rules alone",
    source: "AWS's pages on Auto Mode",
  },
  {
    name: "EKS",
    knownBy: "a label that begins with `eks.amazonaws.com/` or `alpha.eksctl.io/`",
    isOne: hasLabel(/^(?:eks\.amazonaws\.com|alpha\.eksctl\.io)\//),
    source: "AWS's page on node labels",
  },
  {
    name: "GKE",
    scalesItself: true,
    knownBy: "`cloud.google.com/gke-nodepool`",
    isOne: hasLabel(/^cloud\.google\.com\/gke-/),
    source: "Google's page on node labels",
  },
  {
    name: "AKS",
    scalesItself: true,
    knownBy: "a label that begins with `kubernetes.azure.com/`",
    isOne: hasLabel(/^kubernetes\.azure\.com\//),
    source: "Azure's page on node labels",
  },
  {
    name: "OpenShift",
    knownBy: "a label that begins with `node.openshift.io/`",
    isOne: hasLabel(/^node\.openshift\.io\//),
    follows:
      "the watcher needs `privileged`: oc adm policy add-scc-to-user privileged -n lameduck-node -z lameduck-watcher",
    source: "OpenShift's page on security context constraints",
  },
  {
    name: "Linux",
    knownBy: "any other node",
    isOne: () => true,
    source: "docs/operate/watchers.md",
  },
] as const satisfies readonly NodeEnvironment[];

export function environmentOf(node: SeenNode): NodeEnvironment {
  return environments.find(({ isOne }) => isOne(node)) as NodeEnvironment;
}

/** Nodes that go at short notice, whatever the grace period of their pods. */
export interface ShortNotice {
  readonly name: string;
  readonly knownBy: string;
  readonly isOne: (node: SeenNode) => boolean;
  /** What a pod has at most from its signal to the end of the node. */
  readonly seconds: number;
  readonly source: string;
}

const isSpotOfKarpenter = ({ labels }: SeenNode): boolean => labels["karpenter.sh/capacity-type"] === "spot";

export const notices = [
  {
    name: "Spot or preemptible VMs of GKE",
    knownBy: "`cloud.google.com/gke-spot` or `cloud.google.com/gke-preemptible`",
    isOne: ({ labels }) =>
      labels["cloud.google.com/gke-spot"] === "true" || labels["cloud.google.com/gke-preemptible"] === "true",
    seconds: 15,
    source: "Google's page on Spot VMs: 15 s for ordinary pods, at best",
  },
  {
    name: "Spot VMs of AKS",
    knownBy: "`kubernetes.azure.com/scalesetpriority: spot`",
    isOne: ({ labels }) => labels["kubernetes.azure.com/scalesetpriority"] === "spot",
    seconds: 30,
    source: "Azure's page on Spot VMs: 30 s, at best",
  },
  {
    name: "Spot instances of EKS",
    knownBy: "`eks.amazonaws.com/capacityType: SPOT`, `karpenter.sh/capacity-type: spot`",
    isOne: (node) => node.labels["eks.amazonaws.com/capacityType"] === "SPOT" || isSpotOfKarpenter(node),
    seconds: 120,
    source: "AWS's page on interruption notices: two minutes",
  },
] as const satisfies readonly ShortNotice[];

export function noticeOf(node: SeenNode): ShortNotice | undefined {
  return notices.find(({ isOne }) => isOne(node));
}

function hasLabel(name: RegExp): (node: SeenNode) => boolean {
  return ({ labels }) => Object.keys(labels).some((one) => name.test(one));
}
