import { operatorNames } from "@lameduck/protocol";
import type { KubernetesClient, KubernetesObject, Workload } from "@lameduck/kube";
import { imageRepository } from "../about.ts";
import { badOption } from "../errors.ts";
import { ifReadable } from "../cluster/facts.ts";
import type { Mode, Wanted } from "./manifest.ts";
import type { Peer } from "./metrics-from.ts";
import { nodeReaderOf, usualNodeReader } from "./node-reader.ts";
import { policiesThere } from "./policy.ts";

/** What an installation may have besides the webhook, by the name that --disable takes. */
export const extras = [
  "acknowledgements",
  "consumer-accounts",
  "held-deletions",
  "image",
  "metrics-from",
  "node-reader",
  "policy-only",
  "surge",
] as const;
type Extra = (typeof extras)[number];

/** What is installed, or is to be. */
interface Features {
  readonly mode: Mode | undefined;
  readonly acknowledgements: boolean;
  readonly heldDeletions: boolean;
  readonly surge: boolean;
  readonly consumerAccounts: readonly string[];
  readonly metricsFrom: readonly Peer[];
  /** What the watcher of each node reads. */
  readonly nodeReader: string | undefined;
}

/** What is installed now. */
export interface Installed extends Features {
  /** Of the webhook, and the version that it was installed as. */
  readonly image: { readonly reference: string; readonly version: string } | undefined;
}

export const nothingInstalled: Installed = {
  mode: undefined,
  acknowledgements: false,
  heldDeletions: false,
  surge: false,
  consumerAccounts: [],
  metricsFrom: [],
  nodeReader: undefined,
  image: undefined,
};

/** @throws {CliError} LAMEDUCK_BAD_OPTION */
export function mustBeExtra(name: string): Extra {
  const found = extras.find((one) => one === name);
  if (found) return found;
  throw badOption("--disable", `"${name}" is none of ${extras.join(", ")}`);
}

const { coordinator, watcher, workload, heldDeletions, surge } = operatorNames;
const ownAccount = `${watcher.namespace}/${watcher.workload}=`;

/** Reads it from the objects themselves: nothing else is kept anywhere. */
export async function installedNow(
  client: KubernetesClient,
  namespace: string,
  signal: AbortSignal,
): Promise<Installed> {
  const get = <T>(path: string): Promise<T | undefined> => ifReadable(client.get<T>(path, signal));
  const within = `namespaces/${namespace}`;
  const configuration = (name: string): Promise<KubernetesObject | undefined> =>
    get(`/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${name}`);
  const [webhook, collecting, watching, holding, surging, policy, policies] = await Promise.all([
    get<Workload>(`/apis/apps/v1/${within}/deployments/${workload}`),
    get<Workload>(`/apis/apps/v1/${within}/deployments/${coordinator.workload}`),
    get<Workload>(`/apis/apps/v1/namespaces/${watcher.namespace}/daemonsets/${watcher.workload}`),
    configuration(heldDeletions),
    configuration(surge),
    get<Opened>(`/apis/networking.k8s.io/v1/${within}/networkpolicies/${workload}`),
    policiesThere(client, signal),
  ]);
  const reference = webhook?.spec.template.spec.containers[0]?.image;
  const version = webhook?.metadata.labels?.["app.kubernetes.io/version"] ?? "unknown";
  return {
    mode: webhook ? "webhook" : policies.length > 0 ? "policy" : undefined,
    acknowledgements: collecting !== undefined,
    heldDeletions: holding !== undefined,
    surge: surging !== undefined,
    consumerAccounts: collecting ? accountsOf(collecting) : [],
    metricsFrom: (policy?.spec?.ingress ?? []).flatMap(({ ports = [], from = [] }) =>
      ports.some(({ port }) => port === "metrics") ? from : [],
    ),
    nodeReader: nodeReaderOf(watching),
    image: reference === undefined ? undefined : { reference, version },
  };
}

interface Opened extends KubernetesObject {
  readonly spec?: {
    readonly ingress?: readonly {
      readonly ports?: readonly { port?: unknown }[];
      readonly from?: readonly Peer[];
    }[];
  };
}

function accountsOf({ spec }: Workload): string[] {
  const flag = "--consumer-account=";
  const args = spec.template.spec.containers.flatMap(
    (one) => (one as { args?: readonly string[] }).args ?? [],
  );
  return args
    .filter((one) => one.startsWith(flag))
    .map((one) => one.slice(flag.length))
    .filter((one) => !one.startsWith(ownAccount));
}

/** What the options ask for, and what is kept besides. */
export interface Merged {
  readonly wanted: Omit<Wanted, "namespace">;
  /** Lines for a person: what is kept although no option names it. */
  readonly kept: readonly string[];
}

export interface Asked extends Features {
  readonly image: string | undefined;
  readonly disabled: readonly Extra[];
}

/** @param version of this release. @throws {CliError} LAMEDUCK_BAD_OPTION where what is there and what is asked for cannot be together. */
export function merged(asked: Asked, there: Installed, version: string): Merged {
  const kept: string[] = [];
  const off = (extra: Extra): boolean => asked.disabled.includes(extra);
  const keep = (extra: Extra, isThere: boolean, what: string): boolean => {
    if (!isThere || off(extra)) return false;
    kept.push(`keeps ${what} (--disable ${extra} takes it away)`);
    return true;
  };
  const mode =
    asked.mode ?? (keep("policy-only", there.mode === "policy", "the policy alone") ? "policy" : "webhook");
  const processes = mode === "webhook";
  for (const [extra, isThere] of [
    ["acknowledgements", there.acknowledgements],
    ["held-deletions", there.heldDeletions],
    ["surge", there.surge],
  ] as const)
    if (!processes && isThere && !off(extra))
      throw badOption("--policy-only", `would remove what is installed: add --disable ${extra}`);
  const acknowledgements =
    asked.acknowledgements || keep("acknowledgements", there.acknowledgements, "acknowledgements");
  const held = asked.heldDeletions || keep("held-deletions", there.heldDeletions, "held deletions");
  const surges = asked.surge || keep("surge", there.surge, "surges before evictions");
  if (asked.consumerAccounts.length > 0 && !acknowledgements)
    throw badOption("--consumer-account", "needs --acknowledgements");
  const reader = there.nodeReader ?? usualNodeReader;
  const keepsReader =
    acknowledgements &&
    asked.nodeReader === undefined &&
    keep("node-reader", reader !== usualNodeReader, `node reader ${reader}`);
  if (asked.nodeReader !== undefined && !acknowledgements)
    throw badOption("--node-reader", "needs --acknowledgements");
  const others = there.consumerAccounts.filter((one) => !asked.consumerAccounts.includes(one));
  const keepsAccounts =
    acknowledgements && keep("consumer-accounts", others.length > 0, `accounts ${others.join(", ")}`);
  const same = (one: Peer): boolean =>
    asked.metricsFrom.some((other) => JSON.stringify(other) === JSON.stringify(one));
  const peers = there.metricsFrom.filter((one) => !same(one));
  const keepsPeers =
    processes && keep("metrics-from", peers.length > 0, `metrics for ${peers.map(peerText).join(", ")}`);
  const image = imageOf(asked, there, version);
  if (asked.image === undefined && image !== undefined) {
    const isOlder = image === there.image?.reference && there.image.version !== version;
    keep("image", true, `image ${image}${isOlder ? `, of release ${there.image.version}` : ""}`);
  }
  return {
    wanted: {
      mode,
      acknowledgements,
      heldDeletions: held,
      surge: surges,
      consumerAccounts: [...(keepsAccounts ? others : []), ...asked.consumerAccounts],
      metricsFrom: [...(keepsPeers ? peers : []), ...asked.metricsFrom],
      nodeReader: asked.nodeReader ?? (keepsReader ? reader : undefined),
      image,
    },
    kept,
  };
}

/**
 * Our own registry's (undefined), unless another is asked for or in use: then the same repository, with the tag of this release.
 * @param version of this release.
 */
export function imageOf(
  asked: Pick<Asked, "image" | "disabled">,
  { image }: Installed,
  version: string,
): string | undefined {
  if (asked.image !== undefined) return asked.image;
  if (image === undefined || asked.disabled.includes("image")) return undefined;
  const [, repository = "", tag = ""] = /^(.*?)((?::[^/:@]+)?(?:@.+)?)$/.exec(image.reference) ?? [];
  if (repository === imageRepository()) return undefined;
  // What a digest names has no other version.
  return image.version === version || tag.includes("@") ? image.reference : `${repository}:${version}`;
}

function peerText(peer: Peer): string {
  const { ipBlock, namespaceSelector } = peer as {
    readonly ipBlock?: { readonly cidr?: string };
    readonly namespaceSelector?: { readonly matchLabels?: Readonly<Record<string, string>> };
  };
  return (
    ipBlock?.cidr ?? namespaceSelector?.matchLabels?.["kubernetes.io/metadata.name"] ?? JSON.stringify(peer)
  );
}
