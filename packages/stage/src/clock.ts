import { setTimeout as delay } from "node:timers/promises";
import type { RunClock } from "@lameduck/accounting";

/** What the kubelet and the controllers know of time; injected, so that their rules can be run on virtual time. */
export interface StageClock {
  /** Milliseconds. */
  now(): number;
  /** Ends early, without an error, once `signal` is aborted. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

export function stageClock(clock: Pick<RunClock, "now">): StageClock {
  return {
    now: () => clock.now(),
    sleep: async (milliseconds, signal) => {
      if (signal?.aborted || milliseconds <= 0) return;
      // An aborted delay rejects; the caller asks the signal, or does not care which it was.
      await delay(milliseconds, undefined, signal ? { signal } : {}).catch(() => undefined);
    },
  };
}
