import { type KubernetesObject, type Pod } from "@lameduck/kube";
import { operatorNames } from "@lameduck/protocol";
import { type Manifest, until } from "../cluster/index.ts";
import { quiet, type Scenario, type Stage } from "../matrix/scenarios.ts";

/** No call may take longer, whatever happens. Milliseconds. */
export const longestCall = 30_000;
/** Slower than each kube-proxy of the test. Seconds. */
export const convergence = 8;

/** A pod that has lost its label is no longer among those that the load observes; it may still lose requests. */
async function allEnded({ cluster }: Stage, before: ReadonlySet<string>): Promise<void> {
  await until(
    async () => {
      const all = await cluster.api.list<Pod>("/api/v1/namespaces/default/pods");
      return all.every(({ metadata }) => !before.has(metadata.uid));
    },
    { what: "old pods gone", timeoutMs: 170_000 },
  );
}

const uidsOf = async ({ cluster, app }: Stage): Promise<Map<string, string>> => {
  const all = await cluster.api.list<Pod>(`/api/v1/namespaces/default/pods?labelSelector=app%3D${app}`);
  return new Map(all.map(({ metadata }) => [metadata.uid, metadata.name]));
};

export const losing: readonly Scenario[] = [
  {
    name: "rollout restart",
    description: "",
    run: async (stage) => {
      const before = await uidsOf(stage);
      await stage.cluster.kubectl(["rollout", "restart", `deployment/${stage.app}`]);
      await allEnded(stage, new Set(before.keys()));
      await quiet(stage);
    },
  },
  {
    name: "kubectl delete",
    description: "",
    run: async (stage) => {
      const two = [...(await uidsOf(stage))].slice(0, 2);
      for (const [, name] of two) await stage.cluster.kubectl(["delete", "pod", name, "--wait=false"]);
      await allEnded(stage, new Set(two.map(([uid]) => uid)));
      await quiet(stage);
    },
  },
];

export const configurationPath = `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${operatorNames.heldDeletions}`;
export interface Configuration {
  readonly webhooks: readonly {
    readonly clientConfig: { readonly url: string; readonly caBundle?: string };
  }[];
}
export interface Slice extends KubernetesObject {
  readonly endpoints: readonly { readonly conditions: { readonly ready: boolean } }[];
}
export const seconds = (milliseconds: number): string => `${(milliseconds / 1_000).toFixed(1)} s`;

export interface Budget extends KubernetesObject {
  readonly status?: { readonly expectedPods?: number };
}
export const budgetPath = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/held";
export const budget: Manifest = {
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: { name: "held" },
  spec: { maxUnavailable: 1, selector: { matchLabels: { app: "held" } } },
};
export const policy: Manifest = {
  apiVersion: "lameduck.dev/v1alpha1",
  kind: "DrainPolicy",
  metadata: { name: "default", namespace: "default" },
  spec: { convergenceSeconds: convergence },
};

export async function timed<T extends object>(act: () => Promise<T>): Promise<T & { readonly took: number }> {
  const began = performance.now();
  const result = await act();
  return { ...result, took: performance.now() - began };
}
