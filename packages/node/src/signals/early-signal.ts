/** Forgets what was remembered. @returns the first signal that came, and how long ago, in milliseconds. */
export type EarlySignal = () => { name: NodeJS.Signals; late: number } | undefined;

/**
 * The kernel keeps a signal from a process 1 that has no handler yet: a pod deleted while it starts up would then serve until SIGKILL.
 * To have one that does nothing changes nothing else, as for others the signal is lost either way.
 */
export function rememberSignal(signals: readonly NodeJS.Signals[]): EarlySignal {
  let first: { name: NodeJS.Signals; at: number } | undefined;
  const remember = (name: NodeJS.Signals): void => void (first ??= { name, at: performance.now() });
  for (const name of signals) process.on(name, remember);
  return () => {
    for (const name of signals) process.removeListener(name, remember);
    return first && { name: first.name, late: performance.now() - first.at };
  };
}
