import type { IncompleteServices } from "@lameduck/cluster";
import type { AcknowledgementSettings } from "@lameduck/inject";
import type { OtherVersion } from "./protocol/other-versions.ts";
import type { Consumers } from "./state/consumers.ts";
import type { Nodes } from "./state/nodes.ts";
import type { StuckStatus } from "./state/stuck.ts";
import type { Termination } from "./state/termination.ts";
import { silence, silentAfterMs } from "./state/consumer-groups.ts";
import type { Withdrawals } from "./state/withdrawals.ts";

interface ConsumerStatus {
  readonly name: string;
  readonly node: string | undefined;
  readonly basis: string;
  /** Withdrawals that it has not applied. */
  readonly behind: number;
  readonly isSilent: boolean;
  readonly problem: string | undefined;
  /** Why it is behind although it can be read. A coordinator of the release before does not say it. */
  readonly reason?: string | undefined;
}

/** `waiting`: not read yet. `refused`: it may not be read. `unheard`: what was read may be outdated. */
export interface UnreadList {
  readonly name: string;
  readonly state: "waiting" | "refused" | "unheard";
  /** "httpproxies.projectcontour.io": what the coordinator must be allowed to list and watch. */
  readonly resource?: string;
  /** What the API server answers. A coordinator of the release before does not say it. */
  readonly problem?: string;
}

/** What `lameduck status` shows: of this replica only. */
export interface CoordinatorStatus {
  readonly version: 1;
  readonly epoch: string;
  readonly mode: string;
  readonly head: number;
  readonly terminating: number;
  readonly released: number;
  readonly consumers: readonly ConsumerStatus[];
  /** Ready nodes without a report. */
  readonly missing: readonly string[];
  /** Lists of the cluster without which no pod is released. */
  readonly unread?: readonly UnreadList[];
  /** Services whose pods are not released, and the senders for which nothing reports. A coordinator of the release before does not say it. */
  readonly services?: IncompleteServices;
  /** Consumers that did not let go of a pod in the last hour. A coordinator of the release before does not say it. */
  readonly stuck?: readonly StuckStatus[];
  /** Consumers and pods that speak another major version of the protocol. */
  readonly otherVersions?: readonly OtherVersion[];
}

/**
 * A consumer without any report for so long is silent, also where no report is due: an idle one renews its request every 30 s. A process that was
 * stopped keeps its connection, and shows in no other way until the next pod terminates.
 */
const idleSilentAfterMs = 45_000;

/** Entries of each list, so that the answer for thousands of nodes stays below some hundred kilobytes. */
const most = 5_000;

export function consumersStatus(
  { consumers, withdrawals, nodes }: { consumers: Consumers; withdrawals: Withdrawals; nodes: Nodes },
  { notReadyAfterSeconds }: Pick<AcknowledgementSettings, "notReadyAfterSeconds">,
  now: number,
): Pick<CoordinatorStatus, "consumers" | "missing"> {
  const all = Array.from(consumers.all, (one): ConsumerStatus => ({
    name: one.key,
    node: one.node,
    basis: one.basis,
    behind: withdrawals.owed(one.applied, one),
    isSilent: silence(one, withdrawals, now) > silentAfterMs || now - one.heardAt > idleSilentAfterMs,
    problem: one.problem,
    reason: one.reason,
  }));
  const missing = nodes.all
    .filter(
      ({ name, isGone, notReadySince }) =>
        !isGone &&
        now - notReadySince < notReadyAfterSeconds * 1_000 &&
        consumers.proxiesOf(name).length === 0,
    )
    .map(({ name }) => name);
  return { consumers: all.slice(0, most), missing: missing.slice(0, most) };
}

export function consumersByState({
  consumers,
  missing,
}: CoordinatorStatus): readonly (readonly [string, number])[] {
  const silent = consumers.filter(({ isSilent }) => isSilent).length;
  return [
    ["reporting", consumers.length - silent],
    ["silent", silent],
    ["missing", missing.length],
  ];
}

export function terminatingByState(
  terminations: Iterable<Pick<Termination, "state" | "isHeldOnly">>,
): ReadonlyMap<string, number> {
  const counts = new Map(["waiting", "released", "incomplete", "unknown"].map((state) => [state, 0]));
  for (const { state, isHeldOnly } of terminations)
    if (!isHeldOnly) counts.set(state, (counts.get(state) ?? 0) + 1);
  return counts;
}
