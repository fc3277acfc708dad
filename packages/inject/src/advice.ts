import { timesOf, usualGrace, usualReserve } from "./times.ts";
import { settingsFor } from "./policy/merge.ts";

/**
 * What is valid in a DrainPolicy, and hardly meant: for a pod with Kubernetes' own grace period, together with the cluster's policy.
 * @returns a sentence each.
 */
export function adviceOn(namespacePolicy: unknown, clusterPolicy?: unknown): string[] {
  const { settings } = settingsFor({ namespacePolicy, clusterPolicy });
  const { floorSeconds = 0, capSeconds = Infinity } = settings;
  const { grace, hold } = timesOf(usualGrace, "wait", settings, { convergenceSeconds: undefined }, true);
  const longest = Math.min(hold, capSeconds);
  const advice: string[] = [];
  if (floorSeconds > 0 && floorSeconds >= longest)
    advice.push(
      `the floor of ${floorSeconds} s is ${floorSeconds > longest ? "above" : "all of"} the longest hold, ${longest} s: every hold takes that long, and no evidence counts; lower floorSeconds, or raise capSeconds and the grace period`,
    );
  const left = grace - hold;
  if (left <= usualReserve)
    advice.push(
      `a hold to its cap of ${hold} s leaves ${left} s of the ${grace} s for the program's own shutdown: raise gracePeriodSeconds or reserveSeconds, or lower capSeconds`,
    );
  return advice;
}
