import { isReady, type Pod } from "@lameduck/kube";
import { follow, until, type Cluster } from "../cluster/index.ts";
import type { Observation } from "./recording.ts";
import { containerManifest, recordsVolume, type RolloutScenario } from "./scenario.ts";

type RolloutEvent = Observation & { by: "rollout" };

/** Restarts a Deployment and notes the steps of its pods; times still wall-clock minus that of the restart. */
export async function recordRollout(cluster: Cluster, scenario: RolloutScenario): Promise<Observation[]> {
  const { api } = cluster;
  const { name, replicas } = scenario;
  const path = `/apis/apps/v1/namespaces/default/deployments/${name}`;
  const pods = new Map<
    string,
    { number: number; generation: "old" | "new"; ready: boolean; deleted: boolean }
  >();
  const seen: RolloutEvent[] = [];
  let restartedAt = Infinity;
  const following = await follow<Pod>(
    api,
    "/api/v1/namespaces/default/pods",
    { labelSelector: `scenario=${name}` },
    ({ type, object, at }) => {
      const { metadata, status } = object;
      const note = (event: RolloutEvent["event"]): void => {
        const { number, generation } = pod;
        if (at >= restartedAt)
          seen.push({ at: at - restartedAt, by: "rollout", pod: number, generation, event });
      };
      let pod = pods.get(metadata.name) as NonNullable<ReturnType<typeof pods.get>>;
      if (pod === undefined) {
        pod = {
          number: pods.size + 1,
          generation: pods.size < replicas ? "old" : "new",
          ready: false,
          deleted: false,
        };
        pods.set(metadata.name, pod);
        note("created");
      }
      const ready = isReady({ status });
      if (ready && !pod.ready) note("ready");
      pod.ready ||= ready;
      if (metadata.deletionTimestamp !== undefined && !pod.deleted) note("deleted");
      pod.deleted ||= metadata.deletionTimestamp !== undefined;
      if (type === "gone") {
        note("gone");
        pods.delete(metadata.name);
        pods.set(`${metadata.name} gone`, pod);
      }
    },
  );
  try {
    await api.post("/apis/apps/v1/namespaces/default/deployments", rolloutManifest(scenario));
    const settled = (generation: string): boolean =>
      [...pods.values()].filter((pod) => pod.generation === generation && pod.ready && !pod.deleted)
        .length === replicas;
    await until(() => Promise.resolve(settled("old")), { what: `${name} available` });
    // The Deployment counts a pod as available minReadySeconds after it was ready.
    await cluster.kubectl(["rollout", "status", `deployment/${name}`, "--timeout=60s"]);
    restartedAt = Date.now();
    await api.patch(path, { spec: { template: { metadata: { annotations: { restarted: "yes" } } } } });
    const over = (): boolean =>
      settled("new") &&
      seen.filter(({ event, generation }) => event === "gone" && generation === "old").length === replicas;
    await until(() => Promise.resolve(over()), { what: `rollout of ${name}`, timeoutMs: 90_000 });
    return seen.map((one) => ({ ...one, at: Math.round(one.at) }));
  } finally {
    await following.stop();
    await api.delete(path, { propagationPolicy: "Background" });
  }
}

export function rolloutManifest(scenario: RolloutScenario): object {
  const { name, replicas, maxSurge, maxUnavailable, minReadySeconds, endsAfterSeconds } = scenario;
  const labels = { scenario: name };
  const box = { name: "main", onTerm: endsAfterSeconds, readiness: { path: "/ready" } };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, labels },
    spec: {
      replicas,
      minReadySeconds,
      selector: { matchLabels: labels },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } },
      template: {
        metadata: { labels },
        spec: { containers: [containerManifest(box, 0)], volumes: [recordsVolume] },
      },
    },
  };
}
