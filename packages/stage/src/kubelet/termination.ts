import type { StageClock } from "../clock.ts";
import type { ContainerEvent } from "./surroundings.ts";

/** What the rules of termination need of a container. */
export interface Terminable {
  readonly name: string;
  /** Absent without a hook. Never rejects. */
  readonly preStop?: () => Promise<HookResult>;
  readonly exited: Promise<unknown>;
  terminate(): Promise<void>;
  kill(): Promise<void>;
}

export type HookResult = { readonly ok: true } | { readonly ok: false; readonly detail: string };

/** minimumGracePeriodInSeconds, pkg/kubelet/kuberuntime: whatever hooks have used up, this is left after SIGTERM. */
const leastSeconds = 2;

/**
 * Ends the containers of one pod, all in parallel, as the kubelet does: each runs its own hook, whose whole seconds are taken off
 * the grace period, then SIGTERM, then SIGKILL. `order` lists sidecars in the order of their start; they wait for the main
 * containers, and then for one another from the last to the first.
 * (killContainersWithSyncResult, killContainer and terminationOrdering of pkg/kubelet/kuberuntime.)
 */
export async function terminateContainers(
  mains: readonly Terminable[],
  sidecars: readonly Terminable[],
  graceSeconds: number,
  clock: StageClock,
  emit: (event: ContainerEvent) => void,
): Promise<void> {
  const stopped = new Map<Terminable, Promise<void>>();
  const start = (container: Terminable, before: readonly Promise<void>[]): void =>
    void stopped.set(container, stopContainer(container, graceSeconds, before, clock, emit));
  for (const main of mains) start(main, []);
  // A sidecar's predecessors are those already started here: all mains, and the sidecars that started after it.
  for (const sidecar of sidecars.toReversed()) start(sidecar, [...stopped.values()]);
  await Promise.all(stopped.values());
}

/** One container's end. Resolves when it has exited. */
export async function stopContainer(
  container: Terminable,
  graceSeconds: number,
  before: readonly Promise<void>[],
  clock: StageClock,
  emit: (event: ContainerEvent) => void,
): Promise<void> {
  let left = graceSeconds;
  if (container.preStop && left > 0)
    left -= await runHook(container.name, container.preStop, left, clock, emit);
  if (before.length > 0) left -= await wholeSeconds(clock, () => within(Promise.all(before), left, clock));
  left = Math.max(left, leastSeconds);
  await container.terminate();
  if (await within(container.exited, left, clock)) return;
  await container.kill();
  await container.exited;
}

/** @returns the seconds it took off the grace period. A hook that is still running then is left alone, not cancelled. */
async function runHook(
  container: string,
  hook: () => Promise<HookResult>,
  graceSeconds: number,
  clock: StageClock,
  emit: (event: ContainerEvent) => void,
): Promise<number> {
  return wholeSeconds(clock, async () => {
    emit({ type: "pre-stop-begun", container });
    const result = await within(hook(), graceSeconds, clock);
    const ended = { type: "pre-stop-ended", container } as const;
    if (!result)
      emit({ ...ended, result: "cut", detail: `still running after the grace period of ${graceSeconds} s` });
    else if (result.value.ok) emit({ ...ended, result: "done" });
    // Fail open: a failed hook means SIGTERM at once.
    else emit({ ...ended, result: "failed", detail: result.value.detail });
  });
}

async function wholeSeconds(clock: StageClock, work: () => Promise<unknown>): Promise<number> {
  const begun = clock.now();
  await work();
  return Math.trunc((clock.now() - begun) / 1_000);
}

/** @returns what came of it, or undefined when the time was over first. */
async function within<T>(
  work: Promise<T>,
  seconds: number,
  clock: StageClock,
): Promise<{ value: T } | undefined> {
  const over = new AbortController();
  const timeUp = clock.sleep(Math.max(0, seconds) * 1_000, over.signal).then(() => undefined);
  const result = await Promise.race([work.then((value) => ({ value })), timeUp]);
  over.abort();
  return result;
}
