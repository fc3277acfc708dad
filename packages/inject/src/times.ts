import { longestDuration } from "@lameduck/drain";
import { handedOn, options, type HandedOn } from "@lameduck/options";
import type { InjectionSettings } from "./policy/settings.ts";
import type { ClusterFacts } from "./injection.ts";

/** Where neither the workload nor the cluster tells: kube-proxy takes 1 to 10 s, and withdrawals may come late (docs/cluster.md). */
export const unknownConvergence = 15;
/** The least that a hold may take where it ends by evidence: it costs only where traffic goes on. */
export const leastCap = 25;
export const usualGrace = options.grace.default / 1_000;
/** Neither lameduck-init nor @lameduck/node reads a longer time, and both end at once where they are told one. */
export const longestSeconds = longestDuration / 1_000;
/** As lameduck-init and @lameduck/node keep it where nobody asks for a reserve, or a third. */
export const usualReserve = options.reserve.default / 1_000;

export interface Times {
  readonly convergence: { readonly value: number; readonly origin: string };
  /** terminationGracePeriodSeconds, before and after. */
  readonly graceBefore: number;
  readonly grace: number;
  /** The longest hold that fits; below 1 there is no time for any. */
  readonly hold: number;
}

/** The API server's own default where the pod says nothing, or a negative number. */
export function graceOf(spec: Readonly<Record<string, unknown>>): number {
  const given = spec["terminationGracePeriodSeconds"];
  return typeof given === "number" && Number.isInteger(given) && given >= 0 ? given : usualGrace;
}

/**
 * The pod keeps the time that it has today for its own shutdown. The hold comes on top of it, up to the greatest grace period.
 * @param mayRaise false where every container that stops brings Lameduck itself.
 */
export function timesOf(
  graceBefore: number,
  kind: "wait" | "sleep",
  settings: InjectionSettings,
  { convergenceSeconds: known }: Pick<ClusterFacts, "convergenceSeconds">,
  mayRaise: boolean,
): Times {
  const {
    floorSeconds = 0,
    capSeconds,
    reserveSeconds,
    gracePeriodSeconds,
    maxGracePeriodSeconds,
  } = settings;
  const convergence =
    settings.convergenceSeconds === undefined
      ? (known ?? { value: unknownConvergence, origin: "nobody knows the senders" })
      : { value: settings.convergenceSeconds, origin: "settings" };
  const byConvergence =
    kind === "wait" ? Math.max(leastCap, Math.ceil(convergence.value * 1.5)) : Math.ceil(convergence.value);
  const wanted = Math.max(
    Math.min(floorSeconds, capSeconds ?? Infinity),
    kind === "wait" ? (capSeconds ?? byConvergence) : Math.min(capSeconds ?? byConvergence, byConvergence),
  );
  const raised =
    gracePeriodSeconds ?? Math.min(maxGracePeriodSeconds, wanted + (reserveSeconds ?? graceBefore));
  const grace = mayRaise ? Math.max(graceBefore, raised) : graceBefore;
  // They refuse a cap that leaves less than they keep by themselves: a hook would fail, and a Node app not start.
  const reserve = Math.max(reserveSeconds ?? 0, Math.min(usualReserve, Math.ceil(grace / 3)));
  return { convergence, graceBefore, grace, hold: Math.min(wanted, grace - reserve) };
}

/** The settings that a pod gets as they are, as far as its longest hold allows: with the flag and the variable that say them. */
export function handedOnBy(
  settings: InjectionSettings,
  hold: number,
): (Pick<HandedOn, "flag" | "variable"> & { readonly value: string })[] {
  return handedOn.flatMap(({ field, flag, variable }) => {
    const seconds = settings[field];
    return typeof seconds === "number" ? [{ flag, variable, value: `${Math.min(seconds, hold)}s` }] : [];
  });
}
