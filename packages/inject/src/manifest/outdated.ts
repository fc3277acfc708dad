import { formerSleepIn, initVolumePath, initFile, isMap } from "@lameduck/protocol";
import type { ClusterFacts } from "../injection.ts";
import { whyAwaited } from "../former-sleep.ts";
import { listIn, podOf, preStopOf } from "../pod.ts";
import { graceOf, spreadIn, timesOf, type FormerTimes } from "../times.ts";
import type { InjectionSettings } from "../policy/settings.ts";

/** A grace period in which every hold has room. */
const noBound = 1_000_000;

/**
 * What an earlier injection has written stays. It may no longer be what the settings ask for; without a warning nobody would notice.
 * @param isDeclined the workload says no.
 */
export function outdatedWarnings(
  template: unknown,
  isDeclined: boolean,
  settings: InjectionSettings,
  facts: Pick<ClusterFacts, "convergenceSeconds" | "workloadKind">,
): string[] {
  const view = podOf(template);
  if ("code" in view || !view.isInjected) return [];
  const written = view.containers.map(capIn).find((cap) => cap !== undefined);
  if (written === undefined) return [];
  if (isDeclined) return ["it declines, and was injected before: take out what was injected"];
  const sleep = formerSleepIn(view.annotations);
  const former = (shutdown: number): FormerTimes | undefined =>
    sleep === undefined
      ? undefined
      : { sleep, shutdown, isLongest: whyAwaited(view, facts.workloadKind) !== undefined };
  const holdOf = (graceBefore: number): number =>
    timesOf(graceBefore, "wait", settings, facts, true, former(graceBefore), spreadIn(view.containers)).hold;
  const wanted = holdOf(noBound);
  // The hold came on top of the grace period that the pod had before, which may have been too short for all of it.
  const before = [written, wanted].map((seconds) => graceOf(view.spec) - seconds).filter((one) => one > 0);
  if (before.some((one) => holdOf(one) === written)) return [];
  return [
    `a hold of ${wanted} s is asked for, and the hook that was injected has ${written} s; take out what was injected, and inject it again`,
  ];
}

/** Seconds behind `--cap` of a hook that injection wrote. */
function capIn(container: Readonly<Record<string, unknown>>): number | undefined {
  const exec = preStopOf(container)?.["exec"];
  const command = isMap(exec) ? listIn(exec["command"]) : [];
  if (command[0] !== `${initVolumePath}/${initFile}`) return undefined;
  const [, seconds] = /^(\d{1,5})s$/.exec(command[command.indexOf("--cap") + 1] ?? "") ?? [];
  return seconds === undefined ? undefined : Number(seconds);
}
