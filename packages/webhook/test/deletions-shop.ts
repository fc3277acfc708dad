import assert from "node:assert/strict";
import type { Item } from "../../kube/test/fake-api.ts";
import { heldMark } from "@lameduck/protocol";
import { PodApi } from "./deletions-cluster.ts";

/** A cluster with a Service, its ReplicaSet, and pods of it. Senders take a second. */
export async function shop(pods = 2, seconds = 1): Promise<PodApi> {
  const api = await PodApi.start();
  api.put("namespaces", "shop", { metadata: { labels: {} } });
  api.put("services", "web", { metadata: { namespace: "shop" }, spec: { selector: { app: "web" } } });
  api.put("lameduck.dev/drainpolicies", "default", {
    apiVersion: "lameduck.dev/v1alpha1",
    kind: "DrainPolicy",
    metadata: { namespace: "shop" },
    spec: { convergenceSeconds: seconds },
  });
  api.put("apps/replicasets", "web-1", {
    metadata: { uid: "rs", namespace: "shop" },
    spec: { replicas: pods, selector: { matchLabels: { app: "web", "pod-template-hash": "1" } } },
  });
  for (let index = 0; index < pods; index++) api.pod(`web-${index}`);
  return api;
}

export function podOf(api: PodApi, name: string): Item {
  const pod = api.get("pods", name);
  assert.ok(pod);
  return pod;
}

export const labelsOf = (api: PodApi, name: string): Record<string, string> =>
  (api.get("pods", name)?.metadata["labels"] ?? {}) as Record<string, string>;
export const isHeld = (api: PodApi, name: string): boolean => heldMark in labelsOf(api, name);

export function isListed(api: PodApi, name: string): boolean {
  const uid = api.get("pods", name)?.metadata.uid;
  const slice = api.get("discovery.k8s.io/endpointslices", "web-1") as unknown as {
    endpoints: { targetRef: { uid: string } }[];
  };
  return slice.endpoints.some(({ targetRef }) => targetRef.uid === uid);
}
