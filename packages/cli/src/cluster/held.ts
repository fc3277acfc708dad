import {
  inject,
  podToInject,
  injectLabelValue,
  settingsFor,
  systemNamespaces,
  type Times,
  type ClusterFacts,
  type Reason,
} from "@lameduck/inject";
import { printable } from "@lameduck/drain/common";
import { injectedAnnotation, injectLabel } from "@lameduck/protocol";
import { options } from "@lameduck/options";
import type { Pod } from "@lameduck/kube";
import { type ClusterRead, type WorkloadSeen } from "./reading.ts";
import { convergenceOfNeeds, convergenceOfPod, placesOf, seenPod, slowerOf } from "@lameduck/cluster";
import { sendersOfNamespace } from "@lameduck/senders";

/** The longest hold and the grace period of a workload's pods, and how they come about. Whole seconds. */
export interface HeldWorkload {
  readonly namespace: string;
  /** "deployment/web" */
  readonly name: string;
  readonly pods: number;
  /** "Service web", "Ingress shop"; undefined where Services could not be read. */
  readonly exposedBy: readonly string[] | undefined;
  /** Undefined where nothing would be injected. */
  readonly cap: Explained | undefined;
  readonly grace: (Explained & { readonly before: number }) | undefined;
  /** The slowest sender that is known; undefined as above. */
  readonly slowest: { readonly seconds: number; readonly sender: string } | undefined;
  /** Why nothing would be injected. */
  readonly leftAlone: string | undefined;
  /** Its pods are injected already: the figures are theirs. */
  readonly isInjected: boolean;
}

interface Explained {
  readonly seconds: number;
  readonly because: string;
}

/** What admission would make of a workload's pods, or has made of them. */
export interface Judged {
  readonly held: HeldWorkload;
  readonly workload: WorkloadSeen;
  /** For pods that would be injected. */
  readonly patch: ReturnType<typeof inject>["patch"];
}

export interface Around extends Pick<ClusterRead, "paths" | "unread"> {
  /** The DrainPolicy of each namespace that has one. */
  readonly policies: ReadonlyMap<string, unknown>;
  /** With their labels, which may show senders; left out where they are not read. */
  readonly namespaces?: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

export type KnownFacts = Omit<ClusterFacts, "exposedBy" | "convergenceSeconds">;

/** @param ofLameduck the namespace of Lameduck itself. */
export function judgeWorkload(
  workload: WorkloadSeen,
  { paths, policies, unread, namespaces = new Map() }: Around,
  facts: KnownFacts,
  ofLameduck: string,
): Judged {
  const { namespace, name, pods, pod } = workload;
  const isKnown = !unread.some(({ resource }) => resource === "services");
  const found = paths.pathsTo(namespace, pod.metadata.labels ?? {});
  const shown = [...namespaces].flatMap(([one, labels]) =>
    sendersOfNamespace({ name: one, labels }).flatMap(({ need, services }) =>
      services.some((service) => placesOf(`${namespace}/`).includes(service)) ? [need] : [],
    ),
  );
  // As the webhook reckons: who sends to every Service sends to no pod that has none.
  const convergence =
    found.exposedBy.length === 0
      ? found.convergence
      : slowerOf(slowerOf(found.convergence, convergenceOfNeeds(shown)), convergenceOfPod(seenPod(pod)));
  const exposedBy = isKnown ? found.exposedBy : undefined;
  const common = { namespace, name, pods, exposedBy };
  const { settings } = settingsFor({
    podAnnotations: pod.metadata.annotations,
    namespacePolicy: policies.get(namespace),
    clusterPolicy: policies.get(ofLameduck),
  });
  const of = (one: Pod): ReturnType<typeof inject> =>
    inject(
      podToInject(one, {
        name: namespace,
        labels: { [injectLabel]: injectLabelValue },
        ownNamespace: ofLameduck,
      }),
      settings,
      { ...facts, exposedBy, convergenceSeconds: isKnown ? convergence : undefined },
    );
  const told = pod.metadata.annotations?.[injectedAnnotation] === undefined ? undefined : toldTimes(pod);
  const { patch, reasons, times } = of(told === undefined ? pod : withoutInjection(pod));
  const slowest = times && { seconds: times.convergence.value, sender: times.convergence.origin };
  if (told !== undefined) {
    const held = { ...common, ...asTold(told, times), slowest, leftAlone: undefined, isInjected: true };
    return { held, workload, patch: [] };
  }
  const held: HeldWorkload = {
    ...common,
    cap: times && { seconds: times.hold, because: times.because.hold },
    grace: times && { before: times.graceBefore, seconds: times.grace, because: times.because.grace },
    slowest,
    leftAlone: times ? undefined : textOf(reasons),
    isInjected: false,
  };
  return { held, workload, patch };
}

const textOf = (reasons: readonly Reason[]): string =>
  [...new Set(reasons.map(({ text }) => text))].join("; ");

interface Told {
  readonly cap: number | undefined;
  readonly grace: number;
}

/** What the hook of an injected pod was told, or its library. */
function toldTimes({ spec }: Pod): Told {
  const caps = spec.containers.flatMap(({ lifecycle, env = [] }) => {
    const command = lifecycle?.preStop?.exec?.command ?? [];
    const flag = command[command.indexOf(`--${options.cap.init.flag}`) + 1];
    const variable = env.find(({ name }) => name === options.cap.variable)?.value;
    const sleep = lifecycle?.preStop?.sleep?.seconds;
    const seconds = [flag, variable].map((text) => /^(\d+)s$/.exec(text ?? "")?.[1]).find(Boolean);
    return seconds === undefined ? (sleep ?? []) : Number(seconds);
  });
  return {
    cap: caps.length === 0 ? undefined : Math.max(...caps),
    grace: spec.terminationGracePeriodSeconds ?? 30,
  };
}

/** A pod with the same containers, as it may have come to admission. The grace period of then is not known. */
function withoutInjection(pod: Pod): Pod {
  const { [injectedAnnotation]: _, ...annotations } = pod.metadata.annotations ?? {};
  const own = new Set<string>([options.grace.variable, options.prestop.variable, options.cap.variable]);
  const containers = pod.spec.containers.map(({ lifecycle: __, env = [], ...rest }) => ({
    ...rest,
    env: env.filter(({ name }) => !own.has(name)),
  }));
  return { ...pod, metadata: { ...pod.metadata, annotations }, spec: { ...pod.spec, containers } };
}

function asTold({ cap, grace }: Told, today: Times | undefined): Pick<HeldWorkload, "cap" | "grace"> {
  if (cap === undefined) return { cap: undefined, grace: undefined };
  const because =
    today?.hold === cap
      ? today.because.hold
      : `as it was told when it was made${today ? `; a new pod gets ${today.hold} s (${today.because.hold})` : ""}`;
  const left = `${cap} s cap + ${grace - cap} s for the program's own shutdown`;
  return { cap: { seconds: cap, because }, grace: { before: grace, seconds: grace, because: left } };
}

/** Namespaces whose pods are never injected. */
export const isOfSystem = (namespace: string, ofLameduck: string): boolean =>
  namespace === ofLameduck || systemNamespaces.includes(namespace);

/** "cap 60 s (1.5 x 40 s: AWS ALB), grace 30 -> 90 s (60 s cap + 30 s for the program's own shutdown)" */
export function timesText({ cap, grace }: Pick<HeldWorkload, "cap" | "grace">): string {
  if (cap === undefined || grace === undefined) return "";
  const to = grace.before === grace.seconds ? `${grace.seconds} s` : `${grace.before} -> ${grace.seconds} s`;
  return `cap ${cap.seconds} s (${cap.because}), grace ${to} (${grace.because})`;
}

/** Groups that are printed; --json has all of them. */
const mostGroups = 20;
const mostNamed = 3;

/** Most workloads of a cluster get the same: two lines for those of which the same is to be said. */
export function* workloadGroups(
  workloads: readonly HeldWorkload[],
  what: (one: HeldWorkload) => string,
): Generator<string> {
  const groups = [...Map.groupBy(workloads, what)].sort(([, a], [, b]) => b.length - a.length);
  for (const [text, all] of groups.slice(0, mostGroups)) {
    const named = all.slice(0, mostNamed).map(({ namespace, name }) => `${namespace}/${name}`);
    const more = all.length > named.length ? ` and ${all.length - named.length} more` : "";
    yield `  ${printable(named.join(", "))}${more}`;
    yield `    ${printable(text)}`;
  }
  if (groups.length > mostGroups) yield `  and ${groups.length - mostGroups} more of another kind`;
}
