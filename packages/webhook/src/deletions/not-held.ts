import { isReady, type Pod } from "@lameduck/kube";
import { systemNamespaces } from "@lameduck/inject";
import { injectedAnnotation, declining, holdLabel, surgeLabel, surgeLabelValue } from "@lameduck/protocol";
import type { DeletionCall } from "./deletion-call.ts";

/** Why a deletion is not held, and what to say of it. docs/operate/held-deletions.md lists them. */
export const notHeldReasons = {
  "dry-run": "nothing is deleted",
  "at-once": "the caller, or the pod, gives a grace period of a second or less",
  collection: "a whole collection is deleted, one pod after another within one request",
  versioned: "the caller insists on the object's version, which a hold would change",
  exempt: "the caller is exempt",
  "system-namespace": "kube-system, kube-public, kube-node-lease and Lameduck's own namespace are left alone",
  gone: "there is no such pod any more",
  terminating: "the pod is terminating already",
  "not-ready": "the pod is not ready: no endpoint leads to it",
  "static-pod": "the kubelet makes this pod from a file",
  "of-a-job": "a Job owns the pod",
  "of-a-daemonset": "a DaemonSet owns the pod",
  injected: "the pod holds itself",
  "opted-out": `the pod says ${holdLabel}`,
  "nothing-leads-to-it": "no Service selects the pod",
  "owner-unknown": "nothing is known of the selector of the pod's owner",
  "not-chosen": `the pod has no label ${surgeLabel}=${surgeLabelValue}`,
  "several-replicas": "its owner has other pods",
  "not-replaceable": "no ReplicaSet of a Deployment owns the pod: another cannot be made while it is there",
  "no-replacement": "no other pod has become ready in time",
  "owner-needs-label": "every label that could be taken is one by which its StatefulSet knows the pod",
  "network-policy-needs-label":
    "every label that could be taken is one by which a NetworkPolicy knows the pod",
  "last-endpoint": "no other endpoint is ready: withdrawing this one would lose every request",
  "too-many": "as many deletions as are allowed are held at present",
  blind: "the endpoints have not been read yet",
  fault: "something went wrong",
} as const;
export type NotHeldReason = keyof typeof notHeldReasons;

export interface Exempt {
  /** Users, groups and ServiceAccounts ("system:serviceaccount:NAMESPACE:NAME") whose deletions are never held. */
  readonly exempt: readonly string[];
  /** The namespace that Lameduck itself runs in. */
  readonly ownNamespace: string;
}

/** What can be said of the call alone. */
export function reasonNotToHoldCall(
  call: DeletionCall,
  { exempt, ownNamespace }: Exempt,
): NotHeldReason | undefined {
  if (call.isDryRun) return "dry-run";
  if (call.graceSeconds !== undefined && call.graceSeconds <= 1) return "at-once";
  if (call.name === "") return "collection";
  if (call.isVersioned) return "versioned";
  if ([call.user, ...call.groups].some((one) => exempt.includes(one))) return "exempt";
  if (call.namespace === ownNamespace || systemNamespaces.includes(call.namespace)) return "system-namespace";
  return undefined;
}

/** What can be said of the pod alone. */
export function reasonNotToHoldPod(pod: Pod): NotHeldReason | undefined {
  const { metadata, spec } = pod;
  const { annotations = {}, labels = {}, ownerReferences = [] } = metadata;
  if (metadata.deletionTimestamp !== undefined) return "terminating";
  if (annotations["kubernetes.io/config.mirror"] !== undefined) return "static-pod";
  if (annotations[injectedAnnotation] !== undefined) return "injected";
  if (annotations[holdLabel] === "false" || declining.includes(labels[holdLabel] ?? "")) return "opted-out";
  const kinds = ownerReferences.map(({ kind }) => kind);
  if (kinds.includes("Node")) return "static-pod";
  if (kinds.includes("Job")) return "of-a-job";
  if (kinds.includes("DaemonSet")) return "of-a-daemonset";
  if (spec.terminationGracePeriodSeconds !== undefined && spec.terminationGracePeriodSeconds <= 1)
    return "at-once";
  return isReady(pod) ? undefined : "not-ready";
}
