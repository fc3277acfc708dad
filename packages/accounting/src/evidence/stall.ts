import { failedAt, flight, near, setOut, type Evidence } from "./evidence.ts";
import { stoppedAccepting } from "./pod-life.ts";
import { tolerance } from "./tolerance.ts";

/**
 * Whether the load generator's own stall may be why a request failed: it was sent late, and one on time might have met another state of the
 * pod, or gone elsewhere.
 */
export function mayBeOfStall(evidence: Evidence): boolean {
  const { record, symptom, life } = evidence;
  const { late, intended } = record;
  if (late === undefined) return false;
  // It was under way for longer than it was late.
  if (flight(record) > late) return false;
  if (!life) return true;
  const ends = [
    life.closing?.at,
    life.killed,
    ...life.listener.map(({ at }) => at),
    ...life.exits.map(({ at }) => at),
  ];
  // On time it would have fallen into the same moment.
  if (ends.some((at) => near(intended, at, tolerance.race))) return false;
  if (symptom !== "refused" && symptom !== "unreachable" && symptom !== "unavailable") return true;
  const stop = stoppedAccepting(life)?.at;
  const hadStopped = stop !== undefined && stop <= intended;
  return !hadStopped || newsWaited(evidence);
}

/** The sender let go of the pod just after: the news of it waited for the stall's end, too. */
function newsWaited({ record, sender, life }: Evidence): boolean {
  const sent = Math.min(setOut(record), failedAt(record));
  const choices = (life && sender?.choices.get(life.pod)) ?? [];
  return choices.some(({ at, chosen }) => !chosen && at >= sent && at - sent <= tolerance.observation);
}
