import { nameOf, pathOf, resourceOf, type TargetReference } from "../target/reference.ts";
import type { Action } from "./action.ts";
import { persist } from "./persist.ts";

/** The same as `kubectl scale --replicas`. It stays so: what the user asked for is not taken back. */
export function scale(reference: TargetReference, replicas: number): Action {
  const name = nameOf(reference);
  const { kind, namespace } = reference;
  const { group, resource } = resourceOf(kind);
  return {
    name: "scale",
    plan: `scale ${name} to ${replicas}`,
    deed: `${name} was scaled to ${replicas}`,
    obstacle: (target) => {
      if (kind !== "deployment" && kind !== "statefulset") return `a ${kind} has no number of replicas`;
      return target.replicas === replicas ? `it has ${replicas} replicas already` : undefined;
    },
    rules: [{ group, resource: `${resource}/scale`, verbs: ["patch"], name: reference.name }],
    run: async ({ client, signal }) => {
      const path = `${pathOf(resourceOf(kind), namespace, reference.name)}/scale`;
      await persist(signal, () => client.patch(path, { spec: { replicas } }, "merge-patch", signal));
    },
    goesOn: (target) =>
      `${name} is scaled to ${replicas}; \`kubectl scale ${name} -n ${namespace} --replicas=${target.replicas}\` puts it back`,
    replicas,
  };
}
