import { failedAt, type Evidence } from "../evidence/evidence.ts";
import { seen } from "../phrases.ts";
import { isClosing, type PodLife } from "../evidence/pod-life.ts";
import { spell } from "../words.ts";

/** C7: a sender chose a pod that could not serve yet. */
export function notReady(evidence: Evidence): string | undefined {
  const { record, symptom, life } = evidence;
  if (!life || symptom === "truncated") return undefined;
  const why = unprepared(evidence, life);
  return why && `${seen(record)}: ${record.sender} already chose ${life.pod}, ${why}`;
}

/** Why the pod could not serve yet; undefined if it could. */
function unprepared({ record, run }: Evidence, life: PodLife): string | undefined {
  const at = failedAt(record);
  const opened = life.listener.find((change) => change.open)?.at;
  const answered = run.firstAnswer(life);
  // Whatever answered once was prepared, and what closed before it opened never will be.
  if (isClosing(life, at) || (answered !== undefined && answered <= at)) return undefined;
  if (opened !== undefined && opened > at)
    return `which opened its listener only ${spell(opened - at)} later (created ${spell(at - life.began)} before)`;
  if (life.ready !== undefined && life.ready > at)
    return `which became ready only ${spell(life.ready - at)} later`;
  const deletion = life.deleted?.at ?? Infinity;
  if (deletion <= at) return undefined;
  if (life.ready === undefined) return "which was not ready";
  if (answered === undefined && !run.namesPods) return undefined;
  if (answered === undefined) return "which had never answered a request";
  return `which answered its first request only ${spell(answered - at)} later`;
}
