import { deletionBefore, exitNear, failedAt, setOut, type Evidence } from "../evidence/evidence.ts";
import { ending, seen, used } from "../phrases.ts";
import { isClosing, lastExit, type PodLife } from "../evidence/pod-life.ts";
import { tolerance } from "../evidence/tolerance.ts";
import { spell } from "../words.ts";

/** C4: the pod had the request when it ended, or cut its connections. */
export function inFlight(evidence: Evidence): string | undefined {
  const { record, life } = evidence;
  const end = life && cutBy(evidence, life);
  if (!end) return undefined;
  const flew =
    record.kind === "session" ? "" : ` and it was in flight for ${spell(failedAt(record) - setOut(record))}`;
  return `${seen(record)}: ${used(evidence)}${flew} when ${end}`;
}

/** What ended the request while the pod had it, in words. */
function cutBy({ record, symptom }: Evidence, life: PodLife): string | undefined {
  const at = failedAt(record);
  if (symptom === "timeout") {
    const end = lastExit(life);
    return end !== undefined && setOut(record) <= end && end < at
      ? `${life.pod} ${ending(life, end)} ${spell(at - end)} before its caller gave up`
      : undefined;
  }
  if (symptom !== "reset" && symptom !== "truncated" && symptom !== "unavailable") return undefined;
  const exit = exitNear(life, at);
  if (exit && setOut(record) <= exit.at + tolerance.race) return `${life.pod} ${ending(life, exit.at)}`;
  if (symptom === "unavailable") return undefined;
  if (isClosing(life, at + tolerance.observation)) return `${life.pod} cut its connections while it closed`;
  if (life.signalled !== undefined && life.signalled <= at + tolerance.observation)
    return `${life.pod} cut the connection after SIGTERM`;
  return deletionBefore(life, at) ? `${life.pod} cut the connection, in its preStop hook` : undefined;
}
