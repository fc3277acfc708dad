/** Milliseconds that never run backwards. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => performance.now() };

/** Resolves after `milliseconds`, at once when aborted. Never rejects. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const timer = setTimeout(done, Math.max(0, milliseconds));
    function done(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    }
    signal?.addEventListener("abort", done, { once: true });
  });
}

/** The next turn of the event loop, after sockets that were ready have been read and accepted. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Waits for a promise that never rejects, but not for longer than `milliseconds`. */
export async function untilSettled(promise: Promise<unknown>, milliseconds: number): Promise<void> {
  const settled = new AbortController();
  await Promise.race([promise, sleep(milliseconds, settled.signal)]);
  settled.abort();
}
