import { failedAt, near, type Evidence } from "../evidence/evidence.ts";
import { chose, seen } from "../phrases.ts";
import type { PodLife } from "../evidence/pod-life.ts";
import { tolerance } from "../evidence/tolerance.ts";
import { spell } from "../words.ts";

/** C6: the listener closed before the pod had accepted the connection. */
export function acceptQueue(evidence: Evidence): string | undefined {
  const { record, symptom, life } = evidence;
  if (!life || symptom !== "reset" || record.reused || record.received > 0) return undefined;
  const closed = closedOnIt(evidence, life);
  if (closed === undefined) return undefined;
  const waited = closed - (record.connected ?? record.intended);
  return `${seen(record)}: ${chose(evidence)}; the connection had waited ${spell(Math.max(0, waited))} to be accepted when ${life.pod} closed its listener`;
}

/** When the listener closed with this connection still in its queue; undefined if it cannot have been so. */
function closedOnIt({ record, run }: Evidence, life: PodLife): number | undefined {
  const at = failedAt(record);
  const closed = life.listener.findLast((change) => !change.open && near(at, change.at))?.at;
  if (closed === undefined || (record.connected ?? record.intended) > closed + tolerance.observation)
    return undefined;
  // The end of the process closes its listener too, and then cuts what it had accepted. The two cannot be distinguished.
  if (life.exits.some((exit) => near(closed, exit.at, tolerance.exit))) return undefined;
  return run.cutAccepted(life, at) ? undefined : closed;
}
