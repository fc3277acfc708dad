import { lastExit, type PodLife, stoppedAccepting } from "./pod-life.ts";
import { choiceAt, type SenderHistory } from "./sender-history.ts";
import { symptomOf, type Symptom } from "./symptom.ts";
import { toleranceMs } from "./tolerance.ts";
import type { RequestRecord } from "../model/request.ts";

/** All facts by which a rule may say why one request was lost. */
export interface Evidence {
  readonly record: RequestRecord;
  readonly symptom: Symptom;
  readonly sender: SenderHistory | undefined;
  /** The pod's life at the time of the request. Undefined where the pod is not known or was never seen. */
  readonly life: PodLife | undefined;
  /** How many pods could have had the request. Set where the pod was inferred from the time. */
  readonly candidates?: number;
  readonly run: RunFacts;
}

/** Facts that the other requests of the run show. */
export interface RunFacts {
  /** Whether any request of the run names its pod. If not, a pod without answers means nothing. */
  readonly namesPods: boolean;
  /** When the pod first answered a request well. */
  firstAnswer(life: PodLife): number | undefined;
  /** Whether requests that the pod had certainly accepted were cut at that time. */
  cutAccepted(life: PodLife, at: number): boolean;
  inFlight(life: PodLife, at: number): number;
  /** When the pod was last seen at the other end of a connection until then: it answered, refused or reset, or its kernel made a connection. */
  lastSign(life: PodLife, until: number): number | undefined;
  /** When the pod last answered until then. */
  lastAnswer(life: PodLife, until: number): number | undefined;
  /** When a new connection to the pod was last made until then. */
  lastConnected(life: PodLife, until: number): number | undefined;
  /** When somebody last gave up waiting for the pod. */
  lastInVain(life: PodLife): number | undefined;
  /** Whether somebody tried in vain to connect to the pod from then on, until then. */
  triedToConnect(life: PodLife, from: number, until: number): boolean;
  /** The last time before `at` at which the pod reset a connection of the sender. */
  lastReset(life: PodLife, sender: string, at: number): number | undefined;
  /** The pods to which the sender had connections that were cut at that moment. */
  cutAtOnce(sender: string, at: number): readonly PodLife[];
  /** Requests in flight at ordinary times: the median over the pod's arrivals before any pod's deletion. Undefined where the arrivals are too few. */
  ordinaryInFlight(life: PodLife): number | undefined;
}

export function failedAt({ finished, sent, intended }: RequestRecord): number {
  return finished ?? sent ?? intended;
}

/** The time at which the request was sent. Without it: the time at which its connection was made, or else at which the load began the request. */
export function setOut({ sent, connected, intended, late = 0 }: RequestRecord): number {
  return sent ?? connected ?? intended + late;
}

/**
 * The time at which the sender had let go of the pod, if it had when the request set out. Different processes have seen these two moments, so
 * within the tolerance the sender counts as still choosing the pod.
 */
export function letGoAt({ record, sender, life }: Evidence): number | undefined {
  const pod = life?.pod ?? record.pod;
  const choice = sender && pod !== undefined ? choiceAt(sender, pod, setOut(record)) : undefined;
  const certain = choice && !choice.chosen && setOut(record) - choice.at > toleranceMs.observation;
  return certain ? choice.at : undefined;
}

/** How long the request had been on its way when it failed. */
export function flight(record: RequestRecord): number {
  return Math.max(0, failedAt(record) - setOut(record));
}

/** Whether a reset of it may be a keep-alive race: it set out on a connection that was there, and was under way no longer than one lasts. */
export function mayBeRace(record: RequestRecord): boolean {
  return record.reused && flight(record) <= toleranceMs.race;
}

/** Whether its connection was cut, and not by what may be a keep-alive race: a pod causes one by its own time-out, whatever its sender does. */
export function wasCut(record: RequestRecord): boolean {
  const symptom = symptomOf(record);
  return symptom === "truncated" || (symptom === "reset" && !mayBeRace(record));
}

export function near(
  at: number,
  event: number | undefined,
  slack: number = toleranceMs.observation,
): boolean {
  return event !== undefined && Math.abs(at - event) <= slack;
}

/** The end of a process of the pod that the failure coincides with. */
export function exitNear({ exits }: PodLife, at: number) {
  return exits.findLast((exit) => near(at, exit.at));
}

/** The deletion, if it had been written by then. */
export function deletionBefore({ deleted }: PodLife, at: number) {
  return deleted && deleted.at <= at ? deleted : undefined;
}

/** When the pod's address was dead: as observed, else the pod's last exit. */
export function addressGone(life: PodLife): number | undefined {
  return life.gone ?? lastExit(life);
}

/**
 * Whether the load generator's own stall may be why a request failed: the request was sent late, and a request on time might have met
 * another state of the pod, or gone elsewhere.
 */
export function mayBeOfStall(evidence: Evidence): boolean {
  const { record, symptom, life } = evidence;
  const { late, intended } = record;
  if (late === undefined) return false;
  // The request was under way for longer than it was late.
  if (flight(record) > late) return false;
  if (!life) return true;
  const ends = [
    life.closing?.at,
    life.killed,
    ...life.listener.map(({ at }) => at),
    ...life.exits.map(({ at }) => at),
  ];
  // A request on time would have fallen into the same moment.
  if (ends.some((at) => near(intended, at, toleranceMs.race))) return false;
  if (symptom !== "refused" && symptom !== "unreachable" && symptom !== "unavailable") return true;
  const stop = stoppedAccepting(life)?.at;
  const hadStopped = stop !== undefined && stop <= intended;
  return !hadStopped || newsWaited(evidence);
}

/** The sender let go of the pod just after: the news of it waited for the stall's end, too. */
function newsWaited({ record, sender, life }: Evidence): boolean {
  const sent = Math.min(setOut(record), failedAt(record));
  const choices = (life && sender?.choices.get(life.pod)) ?? [];
  return choices.some(({ at, chosen }) => !chosen && at >= sent && at - sent <= toleranceMs.observation);
}
