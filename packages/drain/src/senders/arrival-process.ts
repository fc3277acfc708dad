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
 * Requests on connections from before the hold are a second stream of arrivals beside the new connections, with a silence of its own. Where requests come steadily, both streams fall silent because the sender has let go: it chooses a pod for each request.
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
