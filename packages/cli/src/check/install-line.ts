import { count as counted, whole } from "@lameduck/accounting/words";
import { howToBuildImage } from "../about.ts";
import type { BesideProxy } from "../cluster/beside.ts";
import type { HeldWorkload } from "../cluster/held.ts";
import type { Admission } from "./admission.ts";
import type { NodeProxies, NodesOfKind } from "./nodes.ts";
import type { IncompleteServicesSeen } from "./senders.ts";
import type { WatcherTrial } from "./watcher-trial.ts";

/** How Lameduck would be installed here. */
export interface InstallLine {
  /** Null where it cannot be. */
  readonly command: string | null;
  /** Why it is as it is, and what stands against it. */
  readonly because: readonly string[];
}

interface Circumstances {
  readonly namespace: string;
  readonly enabled: readonly string[];
  readonly connectionFlags: readonly string[];
  /** What stands for an image of the user's own, as long as none is published. */
  readonly image: string | undefined;
  readonly kubernetes: { readonly major: number; readonly minor: number } | undefined;
  /** Minor version that the webhook needs. */
  readonly oldest: number;
  readonly nodes: readonly NodesOfKind[] | null;
  readonly watcher: WatcherTrial;
  readonly nodeProxies: readonly NodeProxies[] | null;
  readonly services: IncompleteServicesSeen | null;
  readonly proxies: readonly BesideProxy[];
  readonly workloads: readonly HeldWorkload[] | null;
  readonly admissions: readonly Admission[];
}

export function installLine(around: Circumstances): InstallLine {
  const { kubernetes, oldest, connectionFlags, proxies, image } = around;
  if (kubernetes && kubernetes.major === 1 && kubernetes.minor < oldest)
    return {
      command: null,
      because: [
        `Kubernetes 1.${kubernetes.minor} is too old: the webhook needs 1.${oldest}; lameduck inject puts the same into manifests`,
      ],
    };
  const { isWorth, because } = acknowledgements(around);
  const begin = beginning(around);
  // They are chosen by `install`, too: here they are said, for who reads the line first.
  const accounts = isWorth
    ? proxies.flatMap(({ account, isUntried }) => (isUntried ? [] : ["--consumer-account", account]))
    : [];
  const command = [
    "lameduck install",
    ...(isWorth ? ["--acknowledgements"] : []),
    ...accounts,
    ...begin.flags,
    ...(image === undefined ? [] : ["--image", image]),
    ...connectionFlags,
  ].join(" ");
  const unpublished =
    image === undefined ? [] : [`--image ${image}: no image is published yet; ${howToBuildImage}`];
  return { command, because: [...because, ...begin.because, ...unpublished] };
}

/** Whether acknowledgements would let pods stop earlier here. They never make anything worse but cost what runs for them. */
function acknowledgements({ nodes, watcher, nodeProxies, services, proxies }: Circumstances): {
  readonly isWorth: boolean;
  readonly because: string[];
} {
  const no = (why: string): { isWorth: false; because: string[] } => ({
    isWorth: false,
    because: [
      `without --acknowledgements: ${why}. Pods decide by their own evidence, which costs seconds and no request`,
    ],
  });
  if (nodes === null || nodeProxies === null || services === null || services.isLeast)
    return no("whether they would help is not known, see above");
  if (watcher.verdict === "refused") return no(`the watchers of nodes would be refused (${watcher.because})`);
  const without = nodes.filter(({ noWatcher }) => noWatcher !== undefined);
  if (without.length > 0) {
    const named = without
      .map(({ environment, nodes: count }) => `${counted(count, "node")} of ${environment}`)
      .join(", ");
    return no(`nodes choose pods for every Service, and nothing can report for ${named}`);
  }
  const others = nodeProxies.filter(({ who }) => who !== undefined && who !== "kube-proxy");
  if (others.length > 0) {
    const named = others.map(({ who, nodes: count }) => `${who} on ${counted(count, "node")}`).join(", ");
    const reader = others.find((one) => one.reader !== undefined)?.reader;
    const chosen =
      reader === undefined
        ? "nothing of Lameduck's reads it"
        : `it is read only where you choose so, since its reader has not been run against a real one: acknowledgements.watcher.consumer=${reader} of the Helm chart`;
    return no(`pods are chosen by ${named}; ${chosen}`);
  }
  const left = proxies.length > 0 ? services.incompleteWithPatches : services.incomplete;
  if (services.services > 0 && left === services.services)
    return no("each Service has a sender that nothing asks which this line installs");
  const gain = services.services - left;
  const patched = proxies.length > 0 ? ", with a watcher beside each proxy that is named above" : "";
  return {
    isWorth: true,
    because: [
      `with --acknowledgements: pods of ${counted(gain, "Service")} (of ${whole(services.services)}) stop as soon as they are released${patched}`,
    ],
  };
}

/** Namespaces to begin with. */
function beginning({ enabled, workloads, admissions }: Circumstances): {
  flags: string[];
  because: string[];
} {
  if (enabled.length > 0) return { flags: enabled.flatMap((one) => ["--enable", one]), because: [] };
  const refused = admissions
    .filter(({ verdict }) => verdict !== "admitted")
    .map(({ namespace }) => namespace);
  const fit = [
    ...new Set((workloads ?? []).flatMap((one) => (one.cap && !one.isInjected ? [one.namespace] : []))),
  ].filter((one) => !refused.includes(one));
  const [first, ...others] = fit;
  if (first === undefined)
    return {
      flags: ["--enable", "NAMESPACE"],
      because: [
        `--enable NAMESPACE: put in one${refused.length === 0 ? "" : `; those above would refuse pods, or change them: ${refused.join(", ")}`}`,
      ],
    };
  return {
    flags: ["--enable", first],
    because:
      others.length === 0
        ? []
        : [`--enable ${first}: one namespace to begin with; later also ${others.join(", ")}`],
  };
}
