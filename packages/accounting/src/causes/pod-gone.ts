import { addressGone, failedAt, setOut, type Evidence } from "../evidence/evidence.ts";
import { chose, seen } from "../phrases.ts";
import { tolerance } from "../evidence/tolerance.ts";
import { spell } from "../words.ts";

/** C2: a sender still chose a pod whose address was dead. */
export function podGone(evidence: Evidence): string | undefined {
  const { record, symptom, life } = evidence;
  const gone = life && addressGone(life);
  if (gone === undefined || symptom === "truncated" || symptom === "wrong-answer") return undefined;
  const at = failedAt(record);
  if (at < gone - tolerance.observation) return undefined;
  // A request that timed out counts from when it was sent; a failed connection attempt, from its failure.
  if (symptom === "timeout" && setOut(record) < gone - tolerance.observation) return undefined;
  const past = setOut(record) - gone;
  const when =
    past >= 1
      ? `had been gone for ${spell(past)}`
      : past > -1
        ? "went at that moment"
        : `went ${spell(past)} later`;
  return `${seen(record)}: ${chose(evidence)}; ${life?.pod} ${when}`;
}
