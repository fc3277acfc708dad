import { ruleNamed, type Finding, type Symptom } from "@lameduck/audit";
import type { RemedyResult } from "@lameduck/accounting";

/** `not tried` is no pass: the rollout could not have shown it. */
export interface Verdict {
  readonly finding: Finding;
  readonly verdict: "confirmed" | "not confirmed" | "not tried";
  readonly because: string;
}

export function canBeShown({ rule, severity }: Finding): boolean {
  return ruleNamed(rule)?.symptom !== undefined && severity !== "unknown";
}

export interface Rolled {
  readonly before: RemedyResult;
  readonly after: RemedyResult | undefined;
  readonly isStandIn: boolean;
}

export function verdictOf(finding: Finding, { before, after, isStandIn }: Rolled): Verdict {
  const symptom = ruleNamed(finding.rule)?.symptom;
  if (symptom === undefined) return notTried(finding, "a rollout in the lab cannot show it");
  if (finding.severity === "unknown") return notTried(finding, "it is a question");
  if (symptom.ofProgram && isStandIn) return notTried(finding, "a stand-in needs no time to start");
  const tested = before.terminations - (before.untested ?? 0);
  if (before.skipped !== undefined || tested === 0)
    return notTried(finding, before.skipped ?? "no termination was tested");
  const seen = seenOf(symptom, before);
  if (seen === "")
    return { finding, verdict: "not confirmed", because: `nothing of it in ${tested} terminations` };
  const left = after && seenOf(symptom, after);
  const mended = left === undefined ? "" : left === "" ? "; none when fixed" : `; when fixed ${left}`;
  return { finding, verdict: "confirmed", because: `${seen}${mended}` };
}

function notTried(finding: Finding, because: string): Verdict {
  return { finding, verdict: "not tried", because };
}

function seenOf({ causes, killed }: Symptom, result: RemedyResult): string {
  const lost = causes.reduce((sum, cause) => sum + (result.lostByCause[cause] ?? 0), 0);
  return [
    ...(lost > 0 ? [`${lost} ${lost === 1 ? "request" : "requests"} lost`] : []),
    ...(killed && result.killed > 0
      ? [`${result.killed} of ${result.terminations} pods killed by SIGKILL`]
      : []),
  ].join(", ");
}
