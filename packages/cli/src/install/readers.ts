import { count as counted } from "@lameduck/accounting/words";
import { isNodeNeed, whoIs } from "@lameduck/senders";
import { incompleteServices } from "@lameduck/cluster";
import { proxiesToRead, untried, type BesideProxy } from "../cluster/beside.ts";
import type { ClusterRead } from "../cluster/reading.ts";
import { usualNodeReader } from "./node-reader.ts";

/** What of this cluster can be asked, besides the proxies of nodes. */
export function readersFor(
  read: ClusterRead,
  options: { namespace: string; image: string },
): readonly BesideProxy[] {
  const { senders } = incompleteServices(
    read.routing,
    () => false,
    () => undefined,
  );
  return proxiesToRead(
    read,
    senders.map(({ need }) => need),
    options,
  );
}

/** What is chosen for them, and what is left to do by hand. @param allowed the accounts of an earlier installation. */
export function* readerLines(proxies: readonly BesideProxy[], allowed: readonly string[]): Generator<string> {
  for (const { who, namespace, workload, account, needs, patch, isThere, isUntried } of proxies) {
    if (isUntried) yield `note: ${who} (${namespace}/${workload}): ${untried} ${account}`;
    else if (!allowed.includes(account))
      yield `chooses account ${account}: a watcher beside ${who} may report (--disable consumer-accounts takes it away)`;
    if (isThere) continue;
    yield `${who} is asked once a watcher stands beside it: kubectl patch ${workload} -n ${namespace} --patch-file FILE, with`;
    if (needs !== undefined) yield `  # ${needs}`;
    for (const line of patch.trimEnd().split("\n")) yield `  ${line}`;
  }
}

/** What nobody could look for. */
export function* unseenLines({ unread }: ClusterRead): Generator<string> {
  for (const { resource } of unread)
    if (/^(?:pods|ingressclasses\.|gatewayclasses\.)/.test(resource))
      yield `note: not all readers could be chosen: ${resource} may not be listed; lameduck check names the rights`;
}

/** Another program than kube-proxy chooses pods on nodes, and the watchers that are chosen cannot tell what it does. */
export function* nodeReaderLines({ routing, nodes }: ClusterRead, reader: string): Generator<string> {
  for (const [need, at] of routing.nodeProxies()) {
    const [, kind = ""] = need.split("/");
    if (!isNodeNeed(need) || reader.startsWith(kind)) continue;
    const count = at === undefined ? nodes.length : [...at].length;
    const how =
      kind === "cilium"
        ? "--node-reader cilium reads it; that reader has never been run against a real agent, so it is yours to choose"
        : kind === usualNodeReader
          ? "a second DaemonSet of watchers must read it (docs/operate/watchers.md), unless a DrainPolicy says that it sends nothing"
          : "nothing of Lameduck's reads it";
    yield `note: ${whoIs(need) ?? need} chooses pods on ${counted(count, "node")}, and watchers there read ${reader || usualNodeReader}: no pod is released; ${how}`;
  }
}
