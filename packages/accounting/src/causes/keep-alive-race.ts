import { deletionBefore, exitNear, failedAt, flight, setOut, type Evidence } from "../evidence/evidence.ts";
import { seen, used } from "../phrases.ts";
import { listenerAt, type PodLife } from "../evidence/pod-life.ts";
import { tolerance } from "../evidence/tolerance.ts";
import { spell } from "../words.ts";

/** C3: it set out on a kept-alive connection that the pod was just closing. */
export function keepAliveRace(evidence: Evidence): string | undefined {
  const { record, symptom, life } = evidence;
  if (!life || symptom !== "reset" || !record.reused || flight(record) > tolerance.race) return undefined;
  const at = failedAt(record);
  const exit = exitNear(life, at);
  // A violent end closes nothing idle first: what it cut was in flight (C4), unless it set out too late for that.
  if (exit && violent(exit) && setOut(record) < exit.at) return undefined;
  return `${seen(record)}: ${used(evidence)}, ${spell(flight(record))} before the reset; ${closer(life, at)}`;
}

function violent(exit: PodLife["exits"][number]): boolean {
  return exit.type === "crashed" || exit.signal !== undefined || (exit.code ?? 0) !== 0;
}

function closer(life: PodLife, at: number): string {
  if (exitNear(life, at)) return `${life.pod} was closing its connections and ended`;
  if (listenerAt(life, at + tolerance.observation)?.open === false || (life.closing?.at ?? Infinity) <= at)
    return `${life.pod} was closing its idle connections`;
  return deletionBefore(life, at)
    ? `${life.pod} had closed that idle connection, its listener still open`
    : `${life.pod} had closed that idle connection by its own time-out`;
}
