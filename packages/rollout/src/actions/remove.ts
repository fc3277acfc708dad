import { setTimeout as delay } from "node:timers/promises";
import { count } from "@lameduck/accounting/words";
import { hasStatus, retry, transientOrStarting } from "@lameduck/kube";
import { nameOf, pathOf, resources, type TargetReference } from "../target-reference.ts";
import type { Action, ActionStage, ActionPod } from "./action.ts";

interface RemoveOptions {
  readonly how: "delete" | "evict";
  /** How many pods, one after another. */
  readonly pods: number | "all";
}

/** Deletes or evicts pods one after another, each when the one before has been replaced. */
export function remove(reference: TargetReference, { how, pods }: RemoveOptions): Action {
  const name = nameOf(reference);
  const which =
    reference.kind === "pod"
      ? name
      : pods === "all"
        ? `every pod of ${name}, one after another`
        : `${count(pods, "pod")} of ${name}${pods === 1 ? "" : ", one after another"}`;
  let removed = 0;
  return {
    name: how,
    plan: `${how} ${which}`,
    get summary() {
      const what = reference.kind === "pod" && removed > 0 ? name : `${count(removed, "pod")} of ${name}`;
      return `${what} ${removed === 1 ? "was" : "were"} ${how === "delete" ? "deleted" : "evicted"}`;
    },
    obstacle: () => undefined,
    rules: [
      how === "delete"
        ? { ...resources.pod, verbs: ["delete"] }
        : { group: "", resource: "pods/eviction", verbs: ["create"] },
    ],
    run: async (stage) => {
      const candidates =
        reference.kind === "pod" ? stage.pods().filter((pod) => pod.name === reference.name) : stage.pods();
      const chosen = pods === "all" ? candidates : candidates.slice(0, pods);
      for (const pod of chosen) {
        await removeOne(stage, reference.namespace, pod, how);
        removed++;
        await stage.replaced([pod]);
      }
    },
    goesOn: () => "pods that were asked to go do go; their controller replaces them",
  };
}

/** An eviction that a PodDisruptionBudget refuses for now is asked for again, as kubectl drain does. */
export async function removeOne(
  { client, signal, say }: Pick<ActionStage, "client" | "signal" | "say">,
  namespace: string,
  pod: ActionPod,
  how: "delete" | "evict",
): Promise<void> {
  const path = pathOf(resources.pod, namespace, pod.name);
  const preconditions = { uid: pod.uid };
  let refused = false;
  for (;;)
    try {
      await retry(
        () =>
          how === "delete"
            ? client.delete(path, { kind: "DeleteOptions", apiVersion: "v1", preconditions }, signal)
            : client.post(
                `${path}/eviction`,
                {
                  apiVersion: "policy/v1",
                  kind: "Eviction",
                  metadata: { name: pod.name, namespace },
                  deleteOptions: { preconditions },
                },
                signal,
              ),
        // A budget may refuse for any time: see below.
        {
          signal,
          retryable: (error, refused) =>
            !(how === "evict" && hasStatus(error, 429)) && transientOrStarting(error, refused),
        },
      );
      return;
    } catch (error) {
      // The pod is gone already, or another pod has its name by now.
      if (hasStatus(error, 404, 409)) return;
      if (!hasStatus(error, 429) || how === "delete") throw error;
      if (!refused) say(`the eviction of ${pod.name} is refused for now: ${error.message}`);
      refused = true;
      await delay(1_000, undefined, { signal });
    }
}
