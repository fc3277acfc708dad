import type { Finding } from "@lameduck/audit";
import type { Cause, RemedyResult } from "@lameduck/accounting";

/** `not tried` is no pass: the rollout could not have shown it. */
export interface Verdict {
  readonly finding: Finding;
  readonly verdict: "confirmed" | "not confirmed" | "not tried";
  readonly because: string;
}

interface Symptom {
  readonly causes: readonly Cause[];
  /** SIGKILL at the end of the grace period shows it, too. */
  readonly killed?: true;
  /** Only the program itself shows it: a stand-in needs no time to start. */
  readonly ofProgram?: true;
}

const stale: readonly Cause[] = ["C1", "C2"];
const cut: readonly Cause[] = ["C4", "C5"];

/** What a rollout shows of each rule's fault. Rules that are not here speak of what the lab does not have. */
const symptoms: Readonly<Record<string, Symptom>> = {
  "prestop-exceeds-grace": { causes: cut, killed: true },
  "grace-too-short": { causes: cut, killed: true },
  "no-lame-duck": { causes: stale },
  "lame-duck-too-short": { causes: stale },
  "shell-swallows-term": { causes: cut, killed: true },
  "term-not-graceful": { causes: ["C4"] },
  "no-readiness-probe": { causes: ["C7"], ofProgram: true },
  "no-surge-room": { causes: ["C9", "C8"] },
  "replaced-in-place": { causes: ["C9"] },
  "lameduck-misconfigured": { causes: [...stale, ...cut], killed: true },
};

export function canBeShown({ rule, severity }: Finding): boolean {
  return rule in symptoms && severity !== "unknown";
}

export interface Rolled {
  readonly before: RemedyResult;
  readonly after: RemedyResult | undefined;
  readonly isStandIn: boolean;
}

export function verdictOf(finding: Finding, { before, after, isStandIn }: Rolled): Verdict {
  const symptom = symptoms[finding.rule];
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

function seenOf({ causes: those, killed }: Symptom, result: RemedyResult): string {
  const lost = those.reduce((sum, cause) => sum + (result.lostByCause[cause] ?? 0), 0);
  return [
    ...(lost > 0 ? [`${lost} ${lost === 1 ? "request" : "requests"} lost`] : []),
    ...(killed && result.killed > 0
      ? [`${result.killed} of ${result.terminations} pods killed by SIGKILL`]
      : []),
  ].join(", ");
}
