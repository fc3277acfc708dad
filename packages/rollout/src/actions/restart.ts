import { count } from "@lameduck/accounting/words";
import { retry, type Workload } from "@lameduck/kube";
import { nameOf, pathOf, resources, type TargetReference } from "../target-reference.ts";
import type { Action } from "./action.ts";

/** What kubectl writes, so that a restart looks the same as one by kubectl. */
const annotation = "kubectl.kubernetes.io/restartedAt";

/** The same as `kubectl rollout restart`. */
export function restart(reference: TargetReference): Action {
  const name = nameOf(reference);
  const { kind, namespace } = reference;
  return {
    name: "restart",
    plan: `restart ${name}: every pod is replaced`,
    summary: `${name} was restarted`,
    obstacle: ({ owner, replicas }) => {
      if (kind === "pod") return "a pod cannot be restarted: name what made it, or use --delete";
      if (kind === "deployment" && owner?.object.spec.paused)
        return "it is paused: nothing would happen (kubectl rollout resume)";
      const { type, rollingUpdate: { partition = 0 } = {} } = owner?.object.spec.updateStrategy ?? {};
      if (type === "OnDelete")
        return "its update strategy is OnDelete: a restart replaces nothing, use --delete";
      if (partition > 0 && partition >= replicas)
        return `its partition is ${partition}, and it has ${count(replicas, "pod")}: a restart replaces none, use --delete`;
      return undefined;
    },
    rules: [{ ...resources[kind], verbs: ["patch"], name: reference.name }],
    run: async ({ client, expectGeneration, serverTime, signal }) => {
      // An Argo Rollout replaces the pods that are older than this, once its own clock shows it. It knows whole seconds only.
      const time = kind === "rollout" ? Math.ceil(serverTime() / 1_000) * 1_000 : serverTime();
      const now = new Date(time).toISOString();
      // An Argo Rollout restarts at a time written into it. The others replace pods because their template has changed.
      const body =
        kind === "rollout"
          ? { spec: { restartAt: now } }
          : { spec: { template: { metadata: { annotations: { [annotation]: now } } } } };
      const path = pathOf(resources[kind], namespace, reference.name);
      const { metadata } = await retry(() => client.patch<Workload>(path, body, "merge-patch", signal), {
        signal,
      });
      expectGeneration(metadata.generation ?? 0);
    },
    goesOn: () =>
      kind === "rollout"
        ? `the restart of ${name} goes on`
        : `the rollout of ${name} goes on; \`kubectl rollout undo ${name} -n ${namespace}\` would be another one`,
  };
}
