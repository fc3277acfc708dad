import { ruleNamed, type Finding, type Symptom } from "@lameduck/audit";
import type { RemedyResult } from "@lameduck/accounting";
import { count } from "@lameduck/accounting/words";

/** Neither `not tried` nor `not proved` is a pass. `not tried`: a rollout could not have shown it. `not proved`: this machine could not roll it. */
export interface Verdict {
  readonly finding: Finding;
  readonly verdict: "confirmed" | "not confirmed" | "not tried" | "not proved";
  readonly because: string;
}

export function canBeShown({ rule, severity }: Finding): boolean {
  return ruleNamed(rule)?.symptom !== undefined && severity !== "unknown";
}

export interface Rolled {
  readonly before: RemedyResult;
  readonly after: RemedyResult | undefined;
}

/** @param rolled undefined where nothing was. */
export function verdictOf(finding: Finding, rolled: Rolled | undefined): Verdict {
  const symptom = ruleNamed(finding.rule)?.symptom;
  if (symptom === undefined) return notTried(finding, "a rollout in the lab cannot show it");
  if (finding.severity === "unknown") return notTried(finding, "it is a question");
  if (rolled === undefined) return notTried(finding, "it was not rolled");
  const { before, after } = rolled;
  const tested = before.terminations - (before.untested ?? 0);
  if (before.skipped !== undefined || tested === 0)
    return notTried(finding, before.skipped ?? "no termination was tested");
  const seen = seenOf(symptom, before);
  if (seen === "")
    return { finding, verdict: "not confirmed", because: `nothing of it in ${count(tested, "termination")}` };
  return { finding, verdict: "confirmed", because: `${seen}${after ? fixedOf(symptom, after) : ""}` };
}

function fixedOf(symptom: Symptom, after: RemedyResult): string {
  const left = seenOf(symptom, after);
  if (left !== "") return `; when fixed ${left}`;
  // Other causes are other findings. But "none" alone would read as no loss at all.
  const others = Object.keys(after.lostByCause);
  return others.length === 0
    ? "; none when fixed"
    : `; none of it when fixed, but ${after.lost} lost by ${others.join(", ")}`;
}

function notTried(finding: Finding, because: string): Verdict {
  return { finding, verdict: "not tried", because };
}

function seenOf({ causes, killed }: Symptom, result: RemedyResult): string {
  const lost = causes.reduce((sum, cause) => sum + (result.lostByCause[cause] ?? 0), 0);
  return [
    ...(lost > 0 ? [`${count(lost, "request")} lost`] : []),
    ...(killed && result.killed > 0
      ? [`${result.killed} of ${count(result.terminations, "pod")} killed by SIGKILL`]
      : []),
  ].join(", ");
}
