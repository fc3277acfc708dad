import { oldestKubernetes, operatorNames } from "@lameduck/protocol";
import { orUndefined, type KubernetesClient } from "@lameduck/kube";
import { rightsYaml } from "@lameduck/kube/rights-yaml";
import { architecturesOf } from "@lameduck/webhook";
import { defaultImage, isPublished, ownImage, version } from "../about.ts";
import { badOption } from "../errors.ts";
import { proxiesToRead, type BesideProxy } from "../cluster/beside.ts";
import { isOfSystem, judgeWorkload, type HeldWorkload, type KnownFacts } from "../cluster/held.ts";
import { readCluster, type ClusterRead } from "../cluster/reading.ts";
import { admissionsOf, type Admission } from "./admission.ts";
import { autoscalersOf, type Autoscaler } from "./autoscalers.ts";
import { installLine, type InstallLine } from "./install-line.ts";
import {
  nodeProxies,
  nodesByKind,
  shortNotices,
  type NodeProxies,
  type NodesOfKind,
  type ShortNotices,
} from "./nodes.ts";
import { notKnownOf, type NotKnown } from "./not-known.ts";
import { tryWatcher, type WatcherTrial } from "./watcher-trial.ts";
import {
  askedSenders,
  assumedSenders,
  describe,
  incompleteSeen,
  unreportedNow,
  type AskedSender,
  type AssumedSender,
  type IncompleteServicesSeen,
} from "./senders.ts";

/** What `lameduck check --json` prints; docs/tools/check.md describes it. What is `null` is not known. */
export interface CheckReport {
  readonly version: 1;
  readonly cluster: {
    readonly context: string;
    readonly server: string;
    /** "1.36" */
    readonly kubernetes: string | null;
  };
  /** Lameduck is there already. */
  readonly isInstalled: boolean;
  readonly nodes: readonly NodesOfKind[] | null;
  /** Whether the watchers of nodes would be admitted. */
  readonly watcher: WatcherTrial;
  readonly nodeProxies: readonly NodeProxies[] | null;
  readonly shortNotices: readonly ShortNotices[] | null;
  readonly assumed: readonly AssumedSender[] | null;
  readonly asked: readonly AskedSender[];
  readonly services: IncompleteServicesSeen | null;
  readonly proxies: readonly BesideProxy[];
  /** Namespaces whose pods would be injected; others are not looked at. */
  readonly namespaces: readonly string[] | null;
  readonly workloads: readonly HeldWorkload[] | null;
  readonly autoscalers: readonly Autoscaler[];
  readonly admissions: readonly Admission[];
  readonly notKnown: readonly NotKnown[];
  /** The rights that would answer, as manifests for kubectl. */
  readonly rights: string | null;
  readonly install: InstallLine;
}

export interface CheckOptions {
  /** The namespace that Lameduck is to have. */
  readonly namespace: string;
  readonly enabled: readonly string[];
  /** "--context staging": what the install line repeats. */
  readonly connectionFlags: readonly string[];
}

export async function checkCluster(
  client: KubernetesClient,
  options: CheckOptions,
  signal: AbortSignal,
): Promise<CheckReport> {
  const { namespace } = options;
  const found = await orUndefined(
    client.get<{ major?: string; minor?: string }>("/version", signal),
    401,
    403,
  );
  const minor = Number.parseInt(found?.minor ?? "", 10);
  const kubernetes = Number.isNaN(minor) ? undefined : { major: Number(found?.major ?? 1), minor };
  const read = await readCluster(client, signal);
  const isRead = (resource: string): boolean => !read.unread.some((one) => one.resource === resource);
  const ifRead = <T>(resource: string, value: () => T): T | null => (isRead(resource) ? value() : null);
  const facts: KnownFacts = {
    lameduckVersion: version(),
    version: kubernetes,
    architectures: architecturesOf(read.nodes.flatMap(({ labels }) => labels["kubernetes.io/arch"] ?? [])),
  };
  if (isRead("namespaces"))
    for (const name of options.enabled) {
      if (isOfSystem(name, namespace)) throw badOption("--enable", `pods of ${name} are never injected`);
      if (!read.namespaces.has(name)) throw badOption("--enable", `there is no namespace "${name}"`);
    }
  const namespaces = isRead("pods") ? targetsOf(read, options) : undefined;
  const judged = read.workloads
    .filter((one) => namespaces?.includes(one.namespace))
    .map((one) => judgeWorkload(one, read, facts, namespace));
  const unreported = unreportedNow(read, namespace);
  const asked = askedSenders(read, unreported);
  const image = isPublished(defaultImage()) ? defaultImage() : ownImage();
  const proxies = proxiesToRead(
    read,
    asked.map(({ need }) => need),
    { namespace, image },
  );
  const nodes = ifRead("nodes", () => nodesByKind(read.nodes));
  const onNodes = isRead("pods")
    ? ifRead("nodes", () => nodeProxies(read, (need) => describe(need, read)))
    : null;
  const services = ifRead("services", () =>
    incompleteSeen(
      read,
      namespace,
      unreported,
      proxies.flatMap(({ serves, isUntried }) => (isUntried ? [] : serves)),
    ),
  );
  const scaling = await autoscalersOf(client, read, signal);
  const admission = await admissionsOf(client, judged, signal);
  const watcher = await tryWatcher(client, namespace, signal);
  const notKnown = [
    ...(kubernetes ? [] : [{ what: "the cluster's version", because: "it may not be read" }]),
    ...notKnownOf(read.unread),
    ...scaling.notKnown,
    ...admission.notKnown,
    ...watcher.notKnown,
  ];
  const workloads = namespaces ? judged.map(({ held }) => held) : null;
  const rights = notKnown.flatMap(({ right }) => right ?? []);
  const { context, server } = client.connection;
  return {
    version: 1,
    cluster: {
      context,
      server: server.origin,
      kubernetes: kubernetes ? `${kubernetes.major}.${kubernetes.minor}` : null,
    },
    isInstalled: await isInstalled(client, namespace, signal),
    nodes,
    watcher: watcher.trial,
    nodeProxies: onNodes,
    shortNotices: ifRead("nodes", () => shortNotices(read.nodes)),
    assumed: ifRead("services", () => assumedSenders(read, namespace)),
    asked,
    services,
    proxies,
    namespaces: namespaces ?? null,
    workloads,
    autoscalers: scaling.autoscalers,
    admissions: admission.admissions,
    notKnown,
    rights: rights.length === 0 ? null : rightsYaml(namespaces?.[0] ?? "NAMESPACE", rights, "lameduck-check"),
    install: installLine({
      ...options,
      image: image === defaultImage() ? undefined : image,
      kubernetes,
      oldest: oldestKubernetes.webhook,
      nodes,
      watcher: watcher.trial,
      nodeProxies: onNodes,
      services,
      proxies,
      workloads,
      admissions: admission.admissions,
    }),
  };
}

/** Those that are asked for; else those with pods that something leads to. */
function targetsOf({ workloads, paths }: ClusterRead, { enabled, namespace }: CheckOptions): string[] {
  if (enabled.length > 0) return [...enabled];
  const found = workloads.flatMap(({ namespace: own, pod }) =>
    !isOfSystem(own, namespace) && paths.pathsTo(own, pod.metadata.labels ?? {}).exposedBy.length > 0
      ? [own]
      : [],
  );
  return [...new Set(found)].sort();
}

async function isInstalled(
  client: KubernetesClient,
  namespace: string,
  signal: AbortSignal,
): Promise<boolean> {
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${operatorNames.workload}`;
  return (await orUndefined(client.get(path, signal), 401, 403, 404)) !== undefined;
}
