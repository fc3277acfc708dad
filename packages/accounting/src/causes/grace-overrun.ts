import { failedAt, near, setOut, type Evidence } from "../evidence/evidence.ts";
import { seen, used } from "../phrases.ts";
import { spell } from "../words.ts";

/**
 * C5: the kubelet's SIGKILL cut it, or left its caller waiting. A kill before the end of the grace period is an exit
 * like any other, and C4.
 */
export function graceOverrun(evidence: Evidence): string | undefined {
  const { record, symptom, life } = evidence;
  if (life?.killed === undefined) return undefined;
  const at = failedAt(record);
  const grace = life.deleted ? ` when the grace period of ${spell(life.deleted.grace)} was over` : "";
  const kill = `SIGKILL ended ${life.pod}${grace}`;
  const cut = symptom === "reset" || symptom === "truncated" || symptom === "unavailable";
  if (cut && near(at, life.killed)) return `${seen(record)}: ${used(evidence)}; ${kill}`;
  // An address that vanishes with its pod leaves its callers waiting.
  if (symptom === "timeout" && setOut(record) <= life.killed && at > life.killed)
    return `${seen(record)}: ${used(evidence)}; ${kill} ${spell(at - life.killed)} before its caller gave up`;
  return undefined;
}
