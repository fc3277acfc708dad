import { incompleteServices, type IncompleteServices } from "@lameduck/cluster";
import { acknowledgementsFor, isSilenced, namesIn, settingsFor, timesOf, usualGrace } from "@lameduck/inject";
import {
  annotationsOf,
  balancers,
  convergenceOf,
  programOf,
  recognisedBy,
  type Sender,
  senderOfRoute,
  whoIs,
} from "@lameduck/senders";
import type { ClusterRead } from "../cluster/reading.ts";
import { usualNodeReader } from "../install/node-reader.ts";

/** How long a sender goes on choosing a pod that is deleted, and what follows for a pod of the usual grace period. */
export interface AssumedSender {
  /** "AWS ALB (IP targets)" */
  readonly name: string;
  /** Services and routes that show it. */
  readonly objects: number;
  readonly seconds: number;
  /** Where the number comes from. */
  readonly source: string;
  readonly cap: number;
  readonly grace: number;
}

/** Who may send to pods besides the proxies of nodes, and must report where acknowledgements are on. */
export interface AskedSender {
  /** "ingress-class/nginx", "mesh/istio": as a watcher names it in --serves, and a DrainPolicy in sendsNothing. */
  readonly need: string;
  readonly who: string;
  /** The first object by which it is known. */
  readonly shownBy: string | undefined;
  /** To so many Services it may send. */
  readonly services: number;
  /** `--consumer` of the watcher that reads it; undefined where nothing of Lameduck's can. */
  readonly reader: string | undefined;
  /** How fast it is, and where that comes from; undefined where nothing is known. */
  readonly convergence: string | undefined;
}

/** With acknowledgements: Services whose pods decide by their own evidence, because somebody may send to them that nobody asks. */
export interface IncompleteServicesSeen {
  readonly services: number;
  /** With the watchers of nodes alone. */
  readonly incomplete: number;
  /** With a watcher beside each proxy, too, that one can read. */
  readonly incompleteWithPatches: number;
  /** Something could not be read: there may be more. */
  readonly isLeast: boolean;
}

export function assumedSenders({ senders, policies }: ClusterRead, ofLameduck: string): AssumedSender[] {
  const { settings } = settingsFor({ clusterPolicy: policies.get(ofLameduck) });
  return [...senders.values()]
    .map(({ sender: { name, seconds, because }, objects }) => {
      const convergenceSeconds = { value: seconds, origin: name };
      const { hold, grace } = timesOf(usualGrace, "wait", settings, { convergenceSeconds }, true);
      return { name, objects, seconds, source: because, cap: hold, grace };
    })
    .sort((a, b) => b.seconds - a.seconds || a.name.localeCompare(b.name));
}

/** What nobody reports for with the watchers of nodes alone. */
export const unreportedNow = (read: ClusterRead, ofLameduck: string): IncompleteServices =>
  incompleteServices(read.routing, answered(read, ofLameduck), nothingAssumed);

/** Who may send to pods besides the proxies of nodes. */
export function askedSenders(
  read: ClusterRead,
  { senders }: Pick<IncompleteServices, "senders">,
): readonly AskedSender[] {
  return [...Map.groupBy(senders, ({ need }) => groupOf(need))].map(([need, all]) => ({
    need,
    shownBy: all[0]?.shownBy,
    services: all.reduce((sum, one) => sum + one.services, 0),
    ...describe(need, read),
  }));
}

/** @param patched what watchers beside proxies would report for. */
export function incompleteSeen(
  read: ClusterRead,
  ofLameduck: string,
  { services, incomplete }: IncompleteServices,
  patched: readonly string[],
): IncompleteServicesSeen {
  const isAnswered = answered(read, ofLameduck);
  const after = incompleteServices(
    read.routing,
    (need, namespace) => patched.includes(need) || isAnswered(need, namespace),
    nothingAssumed,
  );
  return { services, incomplete, incompleteWithPatches: after.incomplete, isLeast: read.unread.length > 0 };
}

/**
 * Whether a need is answered already. The watchers of nodes report for it as they are installed, or a DrainPolicy that is there says that it sends
 * nothing.
 */
function answered(read: ClusterRead, ofLameduck: string): (need: string, namespace: string) => boolean {
  const clusterPolicy = read.policies.get(ofLameduck);
  return (need, namespace) => {
    const namespacePolicy = read.policies.get(namespace);
    const { sendsNothing } = acknowledgementsFor({ clusterPolicy, namespacePolicy });
    return recognisedBy(need)?.reader === usualNodeReader || isSilenced(new Set(namesIn(sendsNothing)), need);
  };
}

/** A load balancer has a need for each Service. */
function groupOf(need: string): string {
  const [kind, cloud] = need.split("/");
  return kind === balancers ? `${kind}/${cloud}` : need;
}

/** What is known of whoever serves it. */
export function describe(
  need: string,
  { classes, ofClasses }: Pick<ClusterRead, "classes" | "ofClasses">,
): Pick<AskedSender, "who" | "reader" | "convergence"> {
  const controller = classes.find((one) => one.need === need)?.controller;
  const program = controller === undefined ? undefined : programOf(controller);
  const [kind = "", name] = need.split("/");
  if (kind === "ingress-class" || kind === "gateway-class") {
    const route = { kind: kind === "ingress-class" ? "Ingress" : "HTTPRoute", ingressClassName: name };
    const sender =
      ofClasses.get(need) ?? senderOfRoute({ ...route, annotations: annotationsOf(), controller }, []);
    const unknown = controller ? `a controller that is not known here, ${controller}` : undefined;
    return {
      who: program?.who ?? whoIs(need) ?? unknown ?? sender?.name ?? "a controller that is not known",
      reader: program?.consumer ?? recognisedBy(need)?.reader,
      convergence: sender && spellSender(sender),
    };
  }
  const recognised = recognisedBy(need);
  const assumed = convergenceOf(need);
  return {
    who: recognised?.who ?? need,
    reader: recognised?.reader,
    convergence: assumed && spellSender(assumed),
  };
}

const spellSender = ({ seconds, because }: Pick<Sender, "seconds" | "because">): string =>
  `within ${seconds} s (${because})`;

/** How fast they are says `describe`. */
const nothingAssumed = (): undefined => undefined;
