import { count } from "@lameduck/accounting/words";
import { retry, type Workload } from "@lameduck/kube";
import { autoscalers, nameOf, pathOf, resources, type TargetReference } from "../target-reference.ts";
import type { Action } from "./action.ts";

/** The same as `kubectl scale --replicas`. The new number is kept: what the user asked for is not undone. */
export function scale(reference: TargetReference, replicas: number): Action {
  const name = nameOf(reference);
  const { kind, namespace } = reference;
  const { group, resource } = resources[kind];
  return {
    name: "scale",
    plan: `scale ${name} to ${replicas}`,
    summary: `${name} was scaled to ${replicas}`,
    obstacle: (target) => {
      if (kind === "daemonset" || kind === "pod") return `a ${kind} has no number of replicas`;
      return target.replicas === replicas ? `it has ${count(replicas, "replica")} already` : undefined;
    },
    rules: [
      { group, resource: `${resource}/scale`, verbs: ["patch"], name: reference.name },
      { ...autoscalers, verbs: ["list"], without: "whether an autoscaler scales it, too" },
    ],
    run: async ({ client, expectGeneration, signal }) => {
      const path = pathOf(resources[kind], namespace, reference.name);
      await retry(() => client.patch(`${path}/scale`, { spec: { replicas } }, "merge-patch", signal), {
        signal,
      });
      // The answer to the patch has no generation. An autoscaler may change the number again from here on, and has the last word.
      const { metadata } = await retry(() => client.get<Workload>(path, signal), { signal });
      expectGeneration(metadata.generation ?? 0);
    },
    goesOn: (target) =>
      `${name} is scaled to ${replicas}; \`kubectl scale ${name} -n ${namespace} --replicas=${target.replicas}\` puts it back`,
  };
}
