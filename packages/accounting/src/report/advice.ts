import type { RemedyResult } from "../model/results.ts";
import { percent, seconds, testedOf, titleOf } from "./figures.ts";
import { count } from "../words.ts";
import { heldAgainstPods, lossless } from "./verdict.ts";

/** Which remedy to take, and how much that is worth. */
export function advice(remedies: readonly RemedyResult[]): string {
  const [best, next] = lossless(remedies);
  if (!best) {
    if (remedies.every((one) => one.terminations === 0)) return "No pod was terminated: nothing is proved.";
    return remedies.every((one) => testedOf(one) === 0)
      ? "No termination was tested: nothing is proved."
      : `Each remedy lost requests, or did not stop within its grace period.${lostAtTheStartOnly(remedies)}`;
  }
  const bound = best.lostPerTermination.high;
  const proof = `with 95 % confidence fewer than ${percent(bound, " ")} of its terminations lose anything`;
  const others = next
    ? ` The next one that lost nothing, ${titleOf(next)}, held ${seconds(next.hold.p50)} s.`
    : "";
  return (
    `Shortest hold without a loss: ${titleOf(best)}, ${seconds(best.hold.p50)} s (median of ` +
    `${count(best.terminations, "termination")}; ${proof}).${others}`
  );
}

/** If losses come from starting pods, another remedy for stopping pods does not help. The advice says so. */
function lostAtTheStartOnly(remedies: readonly RemedyResult[]): string {
  const names = remedies.filter(losesAtTheStartOnly).map(titleOf);
  return names.length === 0
    ? ""
    : ` What ${names.join(" and ")} lost went to new pods that counted as ready before they listened (C7): no way of stopping prevents ` +
        "that, but a readinessProbe does.";
}

function losesAtTheStartOnly(result: RemedyResult): boolean {
  const { lost } = heldAgainstPods(result);
  return lost > 0 && result.killed === 0 && result.lostByCause.C7 === lost;
}
