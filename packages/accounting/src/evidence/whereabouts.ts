import type { RequestRecord } from "../model/request.ts";
import { failedAt, near, type RunFacts, setOut } from "./evidence.ts";
import { listenerAt, stoppedAccepting, type PodLife } from "./pod-life.ts";
import { choiceAt, convergedFrom, type SenderHistory } from "./sender-history.ts";
import type { Symptom } from "./symptom.ts";
import { toleranceMs } from "./tolerance.ts";

/** The life of a pod that a request went to. A name may have lived several times (StatefulSets). */
export function lifeFor(
  record: RequestRecord,
  livesOf: ReadonlyMap<string, readonly PodLife[]>,
  sender: SenderHistory | undefined,
): PodLife | undefined {
  const lives = record.pod === undefined ? undefined : livesOf.get(record.pod);
  if (!lives) return undefined;
  // A connection belongs to the container run that accepted it. Behind a proxy the caller's connection says nothing about the pod's.
  const at = record.podKnownBy === "choice" ? (record.connected ?? setOut(record)) : setOut(record);
  const begun = lives.filter((life) => life.began <= at + toleranceMs.observation);
  const latest = begun.at(-1) ?? lives[0];
  const former = begun.at(-2);
  // A sender that has not let go of the pod's former life still sends to its former address.
  const stale =
    former?.deleted !== undefined && sender !== undefined && (convergedFrom(sender, former) ?? Infinity) > at;
  return stale ? former : latest;
}

/**
 * Where the pod is not known: the one whose end fits the failure best in time, among those that the sender might still have chosen.
 * @param firstAnswer where a pod may be Ready before it can serve: then its beginning may fit, too.
 * @returns also how many fit.
 */
export function lifeByTime(
  record: RequestRecord,
  symptom: Symptom,
  lives: readonly PodLife[],
  sender: SenderHistory | undefined,
  firstAnswer?: RunFacts["firstAnswer"],
): { life: PodLife; candidates: number } | undefined {
  // A connection that is never answered fails long after it reached an address without a pod.
  const at = symptom === "unreachable" ? setOut(record) : failedAt(record);
  const fits = lives
    .filter((life) => life.began <= at && mayChoose(sender, life, setOut(record)))
    .map((life) => ({
      life,
      distance: distance(life, symptom, at) ?? untilServing(life, symptom, at, firstAnswer),
    }))
    .filter((fit): fit is { life: PodLife; distance: number } => fit.distance !== undefined)
    .sort((a, b) => a.distance - b.distance);
  return fits[0] && { life: fits[0].life, candidates: fits.length };
}

export function mayChoose(sender: SenderHistory | undefined, life: PodLife, at: number): boolean {
  if (!sender || !sender.choices.has(life.pod)) return sender === undefined || sender.choices.size === 0;
  const choice = choiceAt(sender, life.pod, at);
  if (choice?.chosen) return true;
  // Established connections outlive the choice; an observation's error does, too.
  return choice !== undefined && at - choice.at <= toleranceMs.observation;
}

/** How long after the failure a pod that was Ready gave its first answer, or how long it had been Ready where it never gave one. */
function untilServing(
  life: PodLife,
  symptom: Symptom,
  at: number,
  firstAnswer: RunFacts["firstAnswer"] | undefined,
): number | undefined {
  const { ready, deleted } = life;
  const isRefused = symptom === "refused" || symptom === "unavailable";
  if (!firstAnswer || !isRefused || ready === undefined || ready > at || (deleted?.at ?? Infinity) <= at)
    return undefined;
  const answered = firstAnswer(life);
  if (answered === undefined) return at - ready;
  return answered > at ? answered - at : undefined;
}

/** How far the pod's end lies from the failure; undefined if that end cannot explain it. */
function distance(life: PodLife, symptom: Symptom, at: number): number | undefined {
  const stop = stoppedAccepting(life)?.at;
  const listener = listenerAt(life, at + toleranceMs.observation);
  switch (symptom) {
    case "refused":
    case "unreachable":
    case "unavailable":
    case "timeout":
      if (listener === undefined && life.listener.length > 0) return life.listener[0]!.at - at;
      if (listener?.open === false) return Math.abs(at - listener.at);
      return stop !== undefined && stop <= at + toleranceMs.observation ? Math.abs(at - stop) : undefined;
    case "reset":
    case "truncated": {
      const cuts = [
        stop,
        life.killed,
        ...life.exits.map((exit) => exit.at),
        ...life.listener.map((change) => change.at),
      ];
      const distances = cuts.filter((cut) => near(at, cut)).map((cut) => Math.abs(at - cut!));
      return distances.length === 0 ? undefined : Math.min(...distances);
    }
    case "not-sent":
    case "wrong-answer":
      return undefined;
  }
}
