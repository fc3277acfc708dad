import type { Field } from "@lameduck/manifests";

/** One object of the input. */
export interface KubeObject {
  /** "apps/Deployment"; "/Service" for the core group. */
  readonly type: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
  readonly field: Field;
}

const pods =
  "/Pod /ReplicationController apps/Deployment apps/StatefulSet apps/DaemonSet apps/ReplicaSet batch/Job batch/CronJob argoproj.io/Rollout";

export const workloadTypes: readonly string[] = pods.split(" ");

/** What relates to pods, with its group. */
const relatedTypes =
  "/Service /Namespace /ConfigMap networking.k8s.io/Ingress extensions/Ingress gateway.networking.k8s.io/HTTPRoute gateway.networking.k8s.io/GRPCRoute gateway.networking.k8s.io/TLSRoute gateway.networking.k8s.io/TCPRoute gateway.networking.k8s.io/UDPRoute autoscaling/HorizontalPodAutoscaler keda.sh/ScaledObject policy/PodDisruptionBudget kyverno.io/ClusterPolicy kyverno.io/Policy mutations.gatekeeper.sh/Assign".split(
    " ",
  );

export const auditedTypes: ReadonlySet<string> = new Set([...workloadTypes, ...relatedTypes]);

const kinds = new Set([...auditedTypes].map((type) => type.split("/")[1]!));

export function isAuditedKind(kind: string): boolean {
  return kinds.has(kind);
}

/** @throws {ManifestError} where there is no kind, or a name is no text. */
export function objectOf(field: Field): KubeObject {
  const kind = field.at("kind").mustText();
  const version = field.at("apiVersion").mustText();
  const group = version.includes("/") ? version.split("/")[0]! : "";
  const metadata = field.at("metadata");
  return {
    type: `${group}/${kind}`,
    kind,
    name: metadata.at("name").text() ?? metadata.at("generateName").text() ?? "(no name)",
    namespace: metadata.at("namespace").text() ?? "default",
    field,
  };
}

/** "Deployment shop/web" */
export function spell({ kind, namespace, name }: Pick<KubeObject, "kind" | "namespace" | "name">): string {
  return `${kind} ${namespace === "default" ? "" : `${namespace}/`}${name}`;
}

export function annotationOf(object: Field, name: string): Field {
  return object.at("metadata").at("annotations").at(name);
}
