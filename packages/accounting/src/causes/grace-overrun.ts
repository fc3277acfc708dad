import { failedAt, near, setOut } from "../evidence/evidence.ts";
import { seen, used } from "../phrases.ts";
import { spell } from "../words.ts";
import type { Rule } from "./cause.ts";

export const graceOverrun: Rule = {
  cause: "C5",
  explain(evidence) {
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
  },
};
