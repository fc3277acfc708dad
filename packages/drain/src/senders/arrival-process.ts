import type { ArrivalProcess } from "../belief/posterior.ts";
import { recentHazard, type LearntHabit, type Recent } from "../belief/evidence.ts";

/**
 * New connections of a sender judged by its habit; and by its latest gaps, where it has slowed down since the deletion.
 * @param recent undefined where it has not.
 */
export function connectionsOf(habit: LearntHabit, last: number, recent: Recent | undefined): ArrivalProcess {
  return {
    rate: habit.rate,
    last,
    rateAfter: (silence) => habit.rateAfter(silence),
    hazard: (silence) =>
      recent ? Math.min(habit.hazard(silence), recentHazard(recent, silence)) : habit.hazard(silence),
  };
}

/**
 * A sender has two streams of arrivals: new connections, and requests on connections from before the hold. Each stream has a silence of its own.
 * A sender that chooses a pod for each request lets both streams fall silent at once, when it has let go.
 * @param later time from the last connection to the last such request; below 0 where the connection was later.
 */
export function withRequests(
  connections: ArrivalProcess,
  requests: LearntHabit,
  later: number,
): ArrivalProcess {
  const silent = (silence: number): number => silence - Math.max(0, later);
  return {
    ...connections,
    rateAfter: (silence) => connections.rateAfter(silence) + requests.rateAfter(Math.max(0, silent(silence))),
    hazard: (silence) => connections.hazard(silence) + requests.hazard(silent(silence)),
  };
}
