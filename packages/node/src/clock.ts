import { setImmediate, setTimeout } from "node:timers/promises";

/** Milliseconds that never run backwards. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => performance.now() };

/** Resolves after `milliseconds`, at once when aborted. Never rejects. */
export async function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  await setTimeout(Math.max(0, milliseconds), undefined, { signal }).catch(() => {});
}

/** The next turn of the event loop, after sockets that were ready have been read and accepted. */
export const nextTurn = (): Promise<void> => setImmediate();

/** Waits for a promise that never rejects, but not for longer than `milliseconds`. */
export async function untilSettled(promise: Promise<unknown>, milliseconds: number): Promise<void> {
  const settled = new AbortController();
  await Promise.race([promise, sleep(milliseconds, settled.signal)]);
  settled.abort();
}
