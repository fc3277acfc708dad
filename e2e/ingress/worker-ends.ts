import type { RunClock } from "@lameduck/accounting";
import { followLog, type LoggedPod } from "./pod-log.ts";

/** As in: 2026/11/21 20:01:11 [notice] 15#15: gracefully shutting down */
const noticeLine = / (\d+)#\d+: (gracefully shutting down|exit)$/;

/**
 * Tells from when to when each of nginx's workers was leaving, by what it says in its log. In that time it closes the connections of its clients: idle
 * ones at once, the others after the answer under way, and whoever asks something on one at that moment is cut.
 */
export function followWorkerEnds(
  pod: LoggedPod,
  clock: RunClock,
  onEnd: (from: number, until: number) => void,
): Promise<Disposable> {
  const leaving = new Map<string, number>();
  return followLog(pod, clock, (at, text) => {
    const [, worker = "", what] = noticeLine.exec(text) ?? [];
    if (worker === "") return;
    if (what === "exit") onEnd(leaving.get(worker) ?? at, at);
    else leaving.set(worker, at);
  });
}
