import type { RemedyResult, Start } from "../model/results.ts";
import { count, whole } from "../words.ts";
import { seconds, titleOf } from "./figures.ts";

/** Routes that are told of one by one. */
const fewSenders = 6;
/** Pods that are named. */
const mostNamed = 3;

/** How new pods began, a sentence or two; none where there was no new pod. */
export function startNotes(result: RemedyResult): string[] {
  const { newPods = [], starts = [] } = result;
  const title = titleOf(result);
  const ready = newPods.filter(({ readyAt }) => readyAt !== undefined);
  const waiting = newPods.filter(({ waitsFor }) => waitsFor !== undefined);
  const rest = waiting.length - mostNamed;
  return [
    ...(ready.length === 0 || starts.length === 0
      ? []
      : [
          `${title}: ${count(ready.length, "new pod")} became Ready. From Ready to the first answer (median, most): ${routes(starts)}. ` +
            `Lost to pods that were too new (C7): ${lost(starts)}.`,
        ]),
    ...waiting
      .slice(0, mostNamed)
      .map(({ pod, waitsFor }) => `${title}: ${pod} was not Ready at the end: ${waitsFor}.`),
    ...(rest > 0
      ? [`${title}: ${count(rest, "more pod")} ${rest === 1 ? "was" : "were"} not Ready at the end.`]
      : []),
  ];
}

function routes(starts: readonly Start[]): string {
  if (starts.length <= fewSenders) return starts.map(route).join("; ");
  const known = starts.filter(({ firstAnswer }) => firstAnswer.count > 0);
  const [slowest] = known.toSorted((a, b) => b.firstAnswer.max - a.firstAnswer.max);
  if (slowest === undefined) return `unknown for all of ${count(starts.length, "sender")}`;
  const medians = known.map(({ firstAnswer }) => firstAnswer.p50);
  const all =
    known.length === starts.length
      ? count(known.length, "sender")
      : `${whole(known.length)} of ${count(starts.length, "sender")}`;
  return `${all} ${seconds(Math.min(...medians))} to ${seconds(Math.max(...medians))}, ${seconds(slowest.firstAnswer.max)} s (${slowest.sender})`;
}

function route({ sender, pods, firstAnswer, none, unknown }: Start): string {
  if (unknown > 0 && unknown === pods) return `${sender} unknown (no answer there names its pod)`;
  const { p50, max } = firstAnswer;
  const took = firstAnswer.count === 0 ? "none" : `${seconds(p50)}, ${seconds(max)} s`;
  return `${sender} ${took}${none > 0 ? ` (${whole(none)} of ${whole(pods)} gave none)` : ""}`;
}

function lost(starts: readonly Start[]): string {
  const losing = starts.filter((one) => one.lost > 0).toSorted((a, b) => b.lost - a.lost);
  const most = losing.slice(0, mostNamed).map((one) => `${whole(one.lost)} by ${one.sender}`);
  const rest = losing.slice(mostNamed).reduce((sum, one) => sum + one.lost, 0);
  return most.length === 0 ? "0" : [...most, ...(rest > 0 ? [`${whole(rest)} by others`] : [])].join(", ");
}
