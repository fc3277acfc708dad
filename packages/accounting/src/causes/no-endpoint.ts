import { failedAt, type Evidence } from "../evidence/evidence.ts";
import { seen } from "../phrases.ts";
import { emptyAt } from "../evidence/sender-history.ts";
import { tolerance } from "../evidence/tolerance.ts";
import { spell } from "../words.ts";

/** The error of a sender of the local stage that has no endpoint to choose. */
const nobody = "NO_ENDPOINT";

/** C9: there was no pod to choose. */
export function noEndpoint({ record, symptom, sender, candidates }: Evidence): string | undefined {
  const at = failedAt(record);
  const empty = sender && emptyAt(sender, at, tolerance.observation);
  // A pod that was chosen is an endpoint; one inferred from the time was not chosen for certain.
  const chosen = record.pod !== undefined && candidates === undefined;
  const fits = empty !== undefined && !chosen && symptom !== "wrong-answer" && symptom !== "truncated";
  if (record.error !== nobody && !fits) return undefined;
  const since = empty === undefined ? 0 : at - empty.from;
  return `${seen(record)}: ${record.sender} had no endpoint left${since >= 1 ? `, for ${spell(since)} already` : ""}`;
}
