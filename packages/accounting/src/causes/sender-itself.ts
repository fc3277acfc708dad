import { failedAt, near, setOut } from "../evidence/evidence.ts";
import { ago, seen, used } from "../phrases.ts";
import { listenerAt, type PodLife } from "../evidence/pod-life.ts";
import { reloadAt } from "../evidence/sender-history.ts";
import { tolerance } from "../evidence/tolerance.ts";
import { count } from "../words.ts";
import type { Rule } from "./cause.ts";

export const senderItself: Rule = {
  cause: "proxy",
  explain(evidence) {
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
  },
};

function wasClosing(life: PodLife, at: number): boolean {
  return (
    listenerAt(life, at)?.open === false ||
    (life.closing !== undefined && life.closing.at <= at) ||
    life.exits.some((exit) => near(at, exit.at))
  );
}
