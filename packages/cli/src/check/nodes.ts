import { environmentOf, noticeOf } from "@lameduck/senders";
import type { ClusterRead, NodeSeen } from "../cluster/reading.ts";

/** Nodes of one kind. */
export interface NodesOfKind {
  /** "AWS Fargate" */
  readonly environment: string;
  readonly nodes: number;
  /** The first of them. */
  readonly examples: readonly string[];
  /** Why no watcher can run there; undefined where one can. */
  readonly noWatcher: string | undefined;
  readonly follows: string | undefined;
}

/** What chooses pods on nodes, as pods of nodes show it. */
export interface NodeProxies {
  /** "kube-proxy", "Cilium's agent"; undefined for nodes where nothing shows it. */
  readonly who: string | undefined;
  readonly nodes: number;
  /** `--consumer` of the watcher that reads it; undefined where none does. */
  readonly reader: string | undefined;
}

export interface ShortNotices {
  readonly what: string;
  readonly nodes: number;
  /** What a pod has at most, whatever its grace period. */
  readonly seconds: number;
  readonly source: string;
}

const mostExamples = 3;

export function nodesByKind(nodes: readonly NodeSeen[]): NodesOfKind[] {
  return [...Map.groupBy(nodes, environmentOf)].map(([{ name, noWatcher, follows }, all]) => ({
    environment: name,
    nodes: all.length,
    examples: all.slice(0, mostExamples).map((one) => one.name),
    noWatcher,
    follows,
  }));
}

export function shortNotices(nodes: readonly NodeSeen[]): ShortNotices[] {
  return [...Map.groupBy(nodes, noticeOf)].flatMap(([notice, all]) =>
    notice === undefined
      ? []
      : [{ what: notice.name, nodes: all.length, seconds: notice.seconds, source: notice.source }],
  );
}

/** A program that pods of a node show, and that may choose pods there. */
interface Shown {
  readonly who: string;
  readonly reader: string | undefined;
  /** Undefined for all nodes. */
  readonly nodes: ReadonlySet<string> | undefined;
}

export function nodeProxies(
  { routing, nodes }: Pick<ClusterRead, "routing" | "nodes">,
  describe: (need: string) => { readonly who: string; readonly reader: string | undefined },
): NodeProxies[] {
  const shown: Shown[] = Array.from(routing.nodeProxies(), ([need, at]) => ({
    ...describe(need),
    nodes: at === undefined ? undefined : new Set(at),
  }));
  const on = (name: string): boolean => shown.some((one) => one.nodes?.has(name) ?? true);
  const unshown = nodes.filter(({ name }) => !on(name)).length;
  return [
    ...shown.map(({ who, reader, nodes: at }) => ({ who, reader, nodes: at?.size ?? nodes.length })),
    ...(unshown === 0 ? [] : [{ who: undefined, reader: undefined, nodes: unshown }]),
  ];
}
