import { failedAt, near, setOut, type Evidence } from "../evidence/evidence.ts";
import { ago, seen, used } from "../phrases.ts";
import { isClosing, type PodLife } from "../evidence/pod-life.ts";
import { reloadAt } from "../evidence/sender-history.ts";
import { tolerance } from "../evidence/tolerance.ts";
import { count } from "../words.ts";

/** The sender cut the connection, because it had let go of the pod or reloaded itself. */
export function senderItself(evidence: Evidence): string | undefined {
  const { record, sender, life, symptom } = evidence;
  const at = failedAt(record);
  if (record.endedBySender) {
    const severed = sender?.severed.findLast((cut) => cut.pod === record.pod && near(at, cut.at));
    return severed
      ? `${seen(record)}: ${record.sender} severed ${count(severed.connections, "connection")} to ${severed.pod} when it stopped choosing it`
      : `${seen(record)}: ${record.sender} itself ended the connection`;
  }
  // A request that it cut as it left is at times read late on a busy machine: when it set out counts as well.
  const reload = sender && reloadAt(sender, [at, setOut(record)], tolerance.observation);
  // A reload is to blame only where nothing happened to the pod meanwhile.
  if (reload === undefined || (life && wasClosing(life, at))) return undefined;
  if (symptom !== "reset" && symptom !== "truncated") return undefined;
  return `${seen(record)}: ${used(evidence)}; ${record.sender} reloaded itself ${ago(record, reload.from)}`;
}

function wasClosing(life: PodLife, at: number): boolean {
  return isClosing(life, at) || life.exits.some((exit) => near(at, exit.at));
}
