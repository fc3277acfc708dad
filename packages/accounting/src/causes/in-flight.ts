import { deletionBefore, exitNear, failedAt, setOut, type Evidence } from "../evidence/evidence.ts";
import { ending, seen, used } from "../phrases.ts";
import { lastExit, listenerAt, type PodLife } from "../evidence/pod-life.ts";
import { tolerance } from "../evidence/tolerance.ts";
import { spell } from "../words.ts";
import type { Rule } from "./cause.ts";

export const inFlight: Rule = {
  cause: "C4",
  explain(evidence) {
    const { record, life } = evidence;
    const end = life && cutBy(evidence, life);
    if (record.kind === "session") return end && `${seen(record)}: ${used(evidence)} when ${end}`;
    return (
      end &&
      `${seen(record)}: ${used(evidence)} and it was in flight for ${spell(failedAt(record) - setOut(record))} when ${end}`
    );
  },
};

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
  const closing =
    listenerAt(life, at + tolerance.observation)?.open === false ||
    (life.closing?.at ?? Infinity) <= at + tolerance.observation;
  if (closing) return `${life.pod} cut its connections while it closed`;
  if (life.signalled !== undefined && life.signalled <= at + tolerance.observation)
    return `${life.pod} cut the connection after SIGTERM`;
  return deletionBefore(life, at) ? `${life.pod} cut the connection, in its preStop hook` : undefined;
}
