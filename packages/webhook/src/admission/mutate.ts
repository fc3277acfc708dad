import {
  type PodsCoordinator,
  inject,
  type ClusterFacts,
  type PatchOperation,
  type Reason,
  injectLabelValue,
  podToInject,
  acknowledgementsFor,
  type AcknowledgementSources,
  settingsFor,
  type PodView,
} from "@lameduck/inject";
import { convergenceOfPod, slowerOf } from "@lameduck/cluster";
import { injectLabel, isMap, probeAnnotation } from "@lameduck/protocol";
import type { ClusterView } from "../cluster-view.ts";
import type { AdmissionRequest, AdmissionResponse } from "./review.ts";

/** What a review needs to know of the cluster. */
export interface ClusterLookup extends Pick<ClusterView, "pathsTo" | "labelsOf" | "architectures"> {
  policyOf(namespace: string): unknown;
}

interface MutationOptions {
  readonly cluster: ClusterLookup;
  /** The operator's own namespace: its DrainPolicy is the cluster's default. */
  readonly namespace: string;
  readonly lameduckVersion: string;
  /** The API server's version, as far as it is known by now. */
  readonly version: () => ClusterFacts["version"];
  /** Where pods ask whether all senders have let go; undefined where acknowledgements are off. */
  readonly coordinator?: string | undefined;
  /** A pod was judged while Services and routes could not be read. */
  readonly onUnknownPaths?: () => void;
}

/** Injects pods. It never denies a request. */
export function injectingHandler(options: MutationOptions): (request: AdmissionRequest) => AdmissionResponse {
  return ({ group, kind, operation, namespace, object }) => {
    // Other objects than pods are returned unchanged.
    if (group !== "" || kind !== "Pod" || operation !== "CREATE") return { allowed: true, patch: [] };
    const { cluster } = options;
    // The API server calls only for labelled namespaces; one may be so new that we have not seen it.
    const labels = cluster.labelsOf(namespace) ?? { [injectLabel]: injectLabelValue };
    const pod = podToInject(object, { name: namespace, labels, ownNamespace: options.namespace });
    if ("code" in pod)
      return {
        allowed: true,
        patch: [],
        warnings: pod.code === "too-many-containers" ? [withPrefix(pod.text)] : [],
        audit: auditAnnotations([pod]),
      };
    const paths = cluster.pathsTo(namespace, pod.labels);
    if (!paths) options.onUnknownPaths?.();
    const policies = {
      namespacePolicy: cluster.policyOf(namespace),
      clusterPolicy: cluster.policyOf(options.namespace),
    };
    const { settings, warnings: settingsWarnings } = settingsFor({
      podAnnotations: pod.annotations,
      ...policies,
    });
    const { coordinator: address } = options;
    const { patch, reasons, warnings } = inject(pod, settings, {
      lameduckVersion: options.lameduckVersion,
      exposedBy: paths?.exposedBy,
      version: options.version(),
      convergenceSeconds: slowerOf(paths?.convergence, convergenceOfPod(seen(pod, namespace))),
      architectures: cluster.architectures,
      coordinator: address === undefined ? undefined : coordinatorOf(address, policies),
    });
    return {
      allowed: true,
      patch: [...patch, ...probeAnswer(pod.annotations, options.lameduckVersion)],
      warnings: [...settingsWarnings, ...warnings].map(withPrefix),
      audit: auditAnnotations(reasons),
    };
  };
}

type SeenPod = Parameters<typeof convergenceOfPod>[0];

/** Containers and texts that are looked at: a pod of a mesh has some five, and its sidecar some thirty words. */
const [mostContainers, mostTexts] = [64, 256];

/** What shows that the pod is part of a mesh, whose sidecar another webhook may have injected before. */
function seen({ annotations, labels, spec, containers }: PodView, namespace: string): SeenPod {
  const maps = (value: unknown): PodView["containers"] =>
    Array.isArray(value) ? value.slice(0, mostTexts).filter(isMap) : [];
  const texts = (value: unknown): string[] =>
    Array.isArray(value) ? value.slice(0, mostTexts).filter((one) => typeof one === "string") : [];
  const all = [...containers, ...maps(spec["initContainers"])];
  return {
    namespace,
    labels: labels as SeenPod["labels"],
    annotations: annotations as SeenPod["annotations"],
    containers: all.slice(0, mostContainers).map(({ name, image, command, args, env }) => ({
      name: String(name),
      image: String(image),
      command: texts(command),
      args: texts(args),
      env: maps(env) as unknown as NonNullable<SeenPod["containers"][number]["env"]>,
    })),
  };
}

/** A probe learns that the API server has asked a webhook, whether or not such a pod is injected. */
function probeAnswer(annotations: Readonly<Record<string, unknown>>, version: string): PatchOperation[] {
  if (annotations[probeAnnotation] !== "webhook") return [];
  const path = `/metadata/annotations/${probeAnnotation.replace("/", "~1")}`;
  return [{ op: "replace", path, value: version }];
}

/** Its mode is that of the namespace's DrainPolicy. */
function coordinatorOf(address: string, policies: AcknowledgementSources): PodsCoordinator {
  return { address, mode: acknowledgementsFor(policies).mode };
}

/** kubectl prints it among those of others. */
function withPrefix(warning: string): string {
  return `lameduck: ${warning}`;
}

function auditAnnotations(reasons: readonly Reason[]): Readonly<Record<string, string>> {
  if (reasons.length === 0) return {};
  const codes = reasons.map(({ code, container }) =>
    container === undefined ? code : `${container}: ${code}`,
  );
  return { reasons: codes.join(", ") };
}
