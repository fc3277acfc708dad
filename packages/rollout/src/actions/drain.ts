import { randomUUID } from "node:crypto";
import { hasStatus, retry, type Node } from "@lameduck/kube";
import { nameOf, type TargetReference } from "../target-reference.ts";
import type { Action, ActionStage, ActionPod, Undo } from "./action.ts";
import { removeOne } from "./remove.ts";

/** Says which run has cordoned a node, so that no run uncordons a node that it has not cordoned. */
const cordonedBy = "lameduck.dev/cordoned-by";

/**
 * What draining a node does to the target: the node is cordoned, and those of the target's pods that run there are evicted, all at
 * once as `kubectl drain` does. Other pods are not evicted. Afterwards the node is uncordoned, unless it was cordoned before.
 */
export function drain(reference: TargetReference, node: string): Action {
  const path = `/api/v1/nodes/${encodeURIComponent(node)}`;
  const name = nameOf(reference);
  const run = randomUUID();
  let asked = false;
  let answered = true;
  const uncordon: Undo = {
    done: `uncordoned ${node}`,
    command: `kubectl uncordon ${node}`,
    run: async (client, signal) => {
      const mark = `/metadata/annotations/${cordonedBy.replace("/", "~1")}`;
      const steps = [
        { op: "test", path: mark, value: run },
        { op: "remove", path: mark },
        { op: "remove", path: "/spec/unschedulable" },
      ];
      try {
        await client.patch(path, steps, "json-patch", signal);
        return true;
      } catch (error) {
        // The mark is not there: the request to cordon never arrived, or an earlier one to uncordon did and its answer was lost.
        if (hasStatus(error, 422)) return !answered;
        answered = false;
        throw error;
      }
    },
  };
  return {
    name: "drain",
    plan: `cordon ${node}, evict the pods of ${name} from it (no others), and uncordon it afterwards`,
    summary: `the pods of ${name} were evicted from ${node}`,
    obstacle: ({ reference: { kind } }) =>
      kind === "daemonset" ? "a drain leaves the pods of DaemonSets where they are" : undefined,
    rules: [
      { group: "", resource: "pods/eviction", verbs: ["create"] },
      { group: "", resource: "nodes", verbs: ["get", "patch"], name: node, clusterWide: true },
    ],
    run: async (stage) => {
      const { client, signal, say } = stage;
      const { spec } = await retry(() => client.get<Node>(path, signal), { signal });
      if (!spec?.unschedulable) {
        // This is set before the request: an interrupt in the middle of it must not leave the node cordoned.
        asked = true;
        await retry(
          () =>
            client.patch(
              path,
              { metadata: { annotations: { [cordonedBy]: run } }, spec: { unschedulable: true } },
              "merge-patch",
              signal,
            ),
          { signal },
        );
      }
      const there = stage.pods().filter((pod) => pod.node === node);
      if (there.length === 0) say(`no pod of ${name} runs on ${node}`);
      await evictAll(stage, reference.namespace, there);
      await stage.replaced(there);
    },
    undo: () => (asked ? uncordon : undefined),
    goesOn: () => "pods that were asked to go do go; their controller replaces them elsewhere",
  };
}

/** An eviction that fails ends the others, which would go on while the node is uncordoned. */
async function evictAll(stage: ActionStage, namespace: string, pods: readonly ActionPod[]): Promise<void> {
  const failed = new AbortController();
  const signal = AbortSignal.any([stage.signal, failed.signal]);
  const evictions = pods.map((pod) => removeOne({ ...stage, signal }, namespace, pod, "evict"));
  try {
    await Promise.all(evictions);
  } catch (error) {
    failed.abort(error);
    await Promise.allSettled(evictions);
    throw error;
  }
}
