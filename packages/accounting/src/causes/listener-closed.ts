import { addressGone, deletionBefore, failedAt, setOut, type Evidence } from "../evidence/evidence.ts";
import { ago, chose, seen } from "../phrases.ts";
import { listenerAt, type PodLife } from "../evidence/pod-life.ts";
import { tolerance } from "../evidence/tolerance.ts";

/** C1: a sender still chose a pod that did not listen any more. */
export function listenerClosed(evidence: Evidence): string | undefined {
  const { record, symptom, life } = evidence;
  const at = failedAt(record);
  if (!life || (symptom !== "refused" && symptom !== "unavailable")) return undefined;
  if (record.status === 504 || at >= (life.gone ?? Infinity)) return undefined;
  const closed = closedBefore(evidence, life);
  return closed && `${seen(record)}: ${chose(evidence)}; ${closed}`;
}

/** "web-3 had closed its listener 2.0 s before" */
function closedBefore({ record, symptom }: Evidence, life: PodLife): string | undefined {
  const at = failedAt(record);
  const last = listenerAt(life, at + tolerance.observation);
  if (last && !last.open) return `${life.pod} ${last.how} ${ago(record, last.at)}`;
  if (life.closing && life.closing.at <= at)
    return symptom === "unavailable" && record.podKnownBy === "header"
      ? `${life.pod} itself said so: it had begun to close ${ago(record, life.closing.at)}`
      : `${life.pod} had begun to close ${ago(record, life.closing.at)}`;
  if (life.signalled !== undefined && life.signalled <= at)
    return symptom === "unavailable" && record.podKnownBy === "header"
      ? `${life.pod} itself said so, after SIGTERM ${ago(record, life.signalled)}`
      : after(life, `SIGTERM ${ago(record, life.signalled)}`);
  // Software may close in its preStop hook, before any signal.
  return symptom === "refused" && deletionBefore(life, setOut(record)) && (addressGone(life) ?? Infinity) > at
    ? after(life, "its preStop hook began")
    : undefined;
}

function after(life: PodLife, event: string): string {
  return `${life.pod} was not listening any more, after ${event}`;
}
