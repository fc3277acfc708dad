import { longestDuration, parseDuration } from "@lameduck/drain";
import { handedOn, options, type HandedOn } from "@lameduck/options";
import type { InjectionSettings } from "./policy/settings.ts";
import type { ClusterFacts, Times } from "./injection.ts";
import { mapsIn, textOf } from "./pod.ts";

/** Where neither the workload nor the cluster tells: kube-proxy takes 1 to 10 s, and withdrawals may come late (docs/evidence/results.md). */
export const unknownConvergence = 15;
/** The least that a hold may take where it ends by evidence: it costs only where traffic goes on. */
export const leastCap = 25;
export const usualGrace = options.grace.default / 1_000;
/** Neither lameduck-init nor @lameduck/node reads a longer time, and both end at once where they are told one. */
export const longestSeconds = longestDuration / 1_000;
/** As lameduck-init and @lameduck/node keep it where nobody asks for a reserve, or a third. */
export const usualReserve = options.reserve.default / 1_000;

/** The API server's own default where the pod says nothing, or a negative number. */
export function graceOf(spec: Readonly<Record<string, unknown>>): number {
  const given = spec["terminationGracePeriodSeconds"];
  return typeof given === "number" && Number.isInteger(given) && given >= 0 ? given : usualGrace;
}

/** Seconds after the hold in which @lameduck/node ends lasting connections, as a container's variable says. */
export function spreadIn(containers: readonly Readonly<Record<string, unknown>>[]): number {
  const { variable } = options.spread;
  const said = containers.flatMap(({ env }) => mapsIn(env)).filter(({ name }) => name === variable);
  return Math.max(
    0,
    ...said.map(({ value }) => {
      try {
        return Math.ceil(parseDuration(textOf(value), variable) / 1_000);
      } catch {
        // The program itself says so.
        return 0;
      }
    }),
  );
}

/** The sleeps in whose place holds come. */
export interface FormerTimes {
  /** The longest of them, as far as the grace period lets it. */
  readonly sleep: number;
  /** What is left behind the sleep for the shutdown of the container that has most. */
  readonly shutdown: number;
  /** The pod that comes next waits for the end of this one: no hold is longer than the sleep. */
  readonly isLongest: boolean;
}

/**
 * The pod keeps the time that it has today for its own shutdown. The hold comes on top of it, up to the greatest grace period.
 * @param mayRaise false where every container that stops brings Lameduck itself.
 * @param spread of `spreadIn`: it has to fit behind the hold, or the program does not start.
 */
export function timesOf(
  graceBefore: number,
  kind: "wait" | "sleep",
  settings: InjectionSettings,
  { convergenceSeconds: known }: Pick<ClusterFacts, "convergenceSeconds">,
  mayRaise: boolean,
  former?: FormerTimes,
  spread = 0,
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
  const asked = Math.max(
    Math.min(floorSeconds, capSeconds ?? Infinity),
    kind === "wait" ? (capSeconds ?? byConvergence) : Math.min(capSeconds ?? byConvergence, byConvergence),
  );
  const wanted = Math.min(
    former === undefined ? asked : former.isLongest ? former.sleep : Math.max(asked, former.sleep),
    atShutdown(settings),
  );
  const kept = reserveSeconds ?? (former ? Math.max(usualReserve, former.shutdown) : graceBefore);
  // Behind a hook that has held the library still wants some time for a hold of its own.
  const lasting = spread && spread + 1;
  const shutdown = Math.max(kept, lasting && lasting + (reserveSeconds ?? usualReserve));
  const raised = gracePeriodSeconds ?? Math.min(maxGracePeriodSeconds, wanted + shutdown);
  const grace = mayRaise ? Math.max(graceBefore, raised) : graceBefore;
  // They refuse a cap that leaves less than they keep by themselves: a hook would fail, and a Node app not start.
  const reserve = Math.max(reserveSeconds ?? 0, Math.min(usualReserve, Math.ceil(grace / 3)));
  const hold = Math.min(wanted, grace - reserve - lasting);
  const whyWanted =
    former !== undefined && wanted === former.sleep
      ? "as long as the sleep that it replaces"
      : asked === capSeconds
        ? "capSeconds says so"
        : asked === floorSeconds && asked !== byConvergence
          ? "floorSeconds says so"
          : spellConvergence(kind, convergence, byConvergence);
  const whyHold =
    hold < wanted ? `${wanted} s would be right (${whyWanted}), and the grace period has no room` : whyWanted;
  const own = `for the program's own shutdown${spread === 0 ? "" : `, ${spread} s of them ${options.spread.variable}`}`;
  const whyGrace =
    grace === graceBefore
      ? mayRaise
        ? "long enough as it is"
        : "as the pod has it"
      : gracePeriodSeconds !== undefined
        ? "gracePeriodSeconds says so"
        : raised < wanted + shutdown
          ? `maxGracePeriodSeconds; ${wanted} s cap + ${shutdown} s ${own} would be ${wanted + shutdown} s`
          : `${wanted} s cap + ${shutdown} s ${own}`;
  return { convergence, graceBefore, grace, hold, because: { hold: whyHold, grace: whyGrace } };
}

/** "1.5 x 40 s: AWS ALB (IP targets)" */
function spellConvergence(
  kind: "wait" | "sleep",
  { value, origin }: Times["convergence"],
  byConvergence: number,
): string {
  if (kind === "sleep") return `${value} s: ${origin}`;
  const product = `1.5 x ${value} s: ${origin}`;
  return byConvergence > value * 1.5 + 1 ? `${leastCap} s at least, more than ${product}` : product;
}

/**
 * The longest hold that a graceful shutdown of the node lets be. The kubelet gives pods the node's time in place of a longer grace period, and no pod is
 * told that it ends for that. The program's own shutdown keeps what is asked for, up to half.
 */
function atShutdown({ nodeShutdownSeconds: left, reserveSeconds = 0 }: InjectionSettings): number {
  if (left === undefined) return Infinity;
  const reserve = Math.max(reserveSeconds, Math.min(usualReserve, Math.ceil(left / 3)));
  return left - Math.min(reserve, Math.ceil(left / 2));
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
