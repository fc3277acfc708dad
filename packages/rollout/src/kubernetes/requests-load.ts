import type { RunClock } from "../model/clock.ts";
import type { LoadEnd, LoadSeen, LoadSource } from "./load-source.ts";
import { readRequests } from "./requests-file/index.ts";

export interface RequestsLoadOptions {
  readonly clock: RunClock;
  readonly files: readonly string[];
  /** Zone of times that name none. */
  readonly zone?: string;
}

/** The load of a tool that people run already, beside: its files are read when the rollout is over. */
export function requestsLoad({ clock, files, zone }: RequestsLoadOptions): LoadSource {
  return {
    addresses: new Map(),
    failed: new Promise<never>(() => undefined),
    begin: () => Promise.resolve(),
    counts: () => ({ sent: 0, failed: 0 }),
    stop: async ({ podAt, from, to }: LoadEnd): Promise<LoadSeen> => {
      const epoch = clock.fromEpoch(0);
      const { records, notes } = await readRequests(files, {
        clock,
        window: { from: from - epoch, to: to - epoch },
        podAt,
        ...(zone === undefined ? {} : { zone }),
      });
      return { records, missing: 0, notes };
    },
    close: () => Promise.resolve(),
  };
}
