import type { Action } from "./actions/action.ts";
import { hasStatus, type KubernetesClient, KubernetesError, retry } from "@lameduck/kube";

/** The outcome of undoing an action's temporary changes. */
export interface Undone {
  /** In the past: "uncordoned node-1"; undefined where there was nothing to be taken back. */
  readonly undone: string | undefined;
  /** What was changed and could not be taken back, with the command that does. */
  readonly left: KubernetesError | undefined;
}

/** An API server that restarts is back by then. */
const longestMs = 60_000;

/** Also after an interrupt, and while the cluster may be hard to reach: as persistently as it was made. */
export async function takeBack({
  action,
  client,
  undoing = longestMs,
}: {
  readonly action: Action;
  readonly client: KubernetesClient;
  readonly undoing?: number;
}): Promise<Undone> {
  const undo = action.undo?.();
  if (!undo) return { undone: undefined, left: undefined };
  const signal = AbortSignal.timeout(undoing);
  try {
    const undone = await retry(() => undo.run(client, signal), {
      signal,
      retryable: (error) => !hasStatus(error, 404),
    });
    return { undone: undone ? undo.done : undefined, left: undefined };
  } catch (error) {
    // What is no longer there cannot have been left behind.
    if (hasStatus(error, 404)) return { undone: undefined, left: undefined };
    const why = error instanceof KubernetesError ? error.message : `not done within ${undoing / 1_000} s`;
    return {
      undone: undefined,
      left: new KubernetesError("LAMEDUCK_NOT_TAKEN_BACK", undo.command, `has to be run by hand: ${why}`),
    };
  }
}
