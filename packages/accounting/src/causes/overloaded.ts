import { deletionBefore, failedAt, setOut, type Evidence } from "../evidence/evidence.ts";
import { seen } from "../phrases.ts";
import { listenerAt, type PodLife } from "../evidence/pod-life.ts";
import { count, spell } from "../words.ts";

/** C8: the pod was serving, and did not answer in time. */
export function overloaded(evidence: Evidence): string | undefined {
  const { record, symptom, life } = evidence;
  const starved = symptom === "timeout" || symptom === "unreachable" || symptom === "unavailable";
  if (!life || !starved || !serving(life, failedAt(record))) return undefined;
  return `${seen(record)}: ${life.pod} was serving${sinceDeletion(evidence, life)}, ${queue(evidence, life)}`;
}

function serving(life: PodLife, at: number): boolean {
  const listening = listenerAt(life, at)?.open ?? life.signalled === undefined;
  return listening && (life.closing?.at ?? Infinity) > at && !life.exits.some((exit) => exit.at <= at);
}

function sinceDeletion({ record }: Evidence, life: PodLife): string {
  const deletion = deletionBefore(life, failedAt(record));
  return deletion
    ? ` still, ${spell(failedAt(record) - deletion.at)} after its deletion`
    : " and not being deleted";
}

function queue({ record, run }: Evidence, life: PodLife): string {
  const now = run.inFlight(life, setOut(record));
  const ordinary = run.ordinaryInFlight(life);
  return `with ${count(now, "request")} in flight when it was sent${ordinary === undefined ? "" : ` (ordinarily ${ordinary})`}`;
}
