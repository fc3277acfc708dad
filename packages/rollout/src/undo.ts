import type { Action } from "./actions/action.ts";
import { hasStatus, type KubernetesClient, KubernetesError, retry } from "@lameduck/kube";

/** The outcome of undoingMs an action's temporary changes. */
export interface Undone {
  /** What was undone: "uncordoned node-1"; undefined where there was nothing to undo. */
  readonly undone: string | undefined;
  /** What was changed and could not be taken back, with the command that does. */
  readonly left: KubernetesError | undefined;
}

/** An API server that restarts answers again within this time. */
const longestMs = 60_000;

/**
 * Undoes the action's temporary changes, also after an interrupt. It tries as persistently as the action did, as the cluster may be hard to
 * reach.
 */
export async function takeBack({
  action,
  client,
  undoingMs = longestMs,
}: {
  readonly action: Action;
  readonly client: KubernetesClient;
  readonly undoingMs?: number;
}): Promise<Undone> {
  const undo = action.undo?.();
  if (!undo) return { undone: undefined, left: undefined };
  const signal = AbortSignal.timeout(undoingMs);
  try {
    const undone = await retry(() => undo.run(client, signal), {
      signal,
      retryable: (error) => !hasStatus(error, 404),
    });
    return { undone: undone ? undo.done : undefined, left: undefined };
  } catch (error) {
    // An object that is gone keeps no change.
    if (hasStatus(error, 404)) return { undone: undefined, left: undefined };
    const why = error instanceof KubernetesError ? error.message : `not done within ${undoingMs / 1_000} s`;
    return {
      undone: undefined,
      left: new KubernetesError("LAMEDUCK_NOT_TAKEN_BACK", undo.command, `has to be run by hand: ${why}`),
    };
  }
}
