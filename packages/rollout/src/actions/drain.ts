import type { Node } from "@lameduck/kube";
import { nameOf, type TargetReference } from "../target-reference.ts";
import type { Action, Undo } from "./action.ts";
import { persist } from "./persist.ts";
import { removeOne } from "./remove.ts";

/**
 * What draining a node does to the target: the node is cordoned, and those of the target's pods that run there are evicted, all at
 * once as `kubectl drain` does. Pods of others stay where they are. Afterwards the node is uncordoned, unless it was cordoned before.
 */
export function drain(reference: TargetReference, node: string): Action {
  const path = `/api/v1/nodes/${encodeURIComponent(node)}`;
  const name = nameOf(reference);
  let cordoned = false;
  const uncordon: Undo = {
    done: `uncordoned ${node}`,
    command: `kubectl uncordon ${node}`,
    run: (client, signal) => client.patch(path, { spec: { unschedulable: null } }, "merge-patch", signal),
  };
  return {
    name: "drain",
    plan: `cordon ${node}, evict the pods of ${name} from it (no others), and uncordon it afterwards`,
    deed: `the pods of ${name} were evicted from ${node}`,
    obstacle: ({ reference: { kind } }) =>
      kind === "daemonset" ? "a drain leaves the pods of DaemonSets where they are" : undefined,
    rules: [
      { group: "", resource: "pods/eviction", verbs: ["create"] },
      { group: "", resource: "nodes", verbs: ["get", "patch"], name: node, clusterWide: true },
    ],
    run: async (stage) => {
      const { client, signal, say } = stage;
      const { spec } = await persist(signal, () => client.get<Node>(path, signal));
      if (!spec?.unschedulable) {
        // Before the request: an interrupt in the middle of it must not leave the node so.
        cordoned = true;
        await persist(signal, () =>
          client.patch(path, { spec: { unschedulable: true } }, "merge-patch", signal),
        );
      }
      const there = stage.pods().filter((pod) => pod.node === node);
      if (there.length === 0) say(`no pod of ${name} runs on ${node}`);
      await Promise.all(there.map((pod) => removeOne(stage, reference.namespace, pod, "evict")));
      await stage.replaced(there);
    },
    undo: () => (cordoned ? uncordon : undefined),
    goesOn: () => "pods that were asked to go do go; their controller replaces them elsewhere",
  };
}
