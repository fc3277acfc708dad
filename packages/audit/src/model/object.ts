import type { Field } from "@lameduck/manifests";
import type { Annotations } from "@lameduck/senders";
import { askedOnce } from "./asked-once.ts";

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
  "/Service /Namespace /ConfigMap /PersistentVolumeClaim networking.k8s.io/Ingress extensions/Ingress networking.k8s.io/IngressClass gateway.networking.k8s.io/HTTPRoute gateway.networking.k8s.io/GRPCRoute gateway.networking.k8s.io/TLSRoute gateway.networking.k8s.io/TCPRoute gateway.networking.k8s.io/UDPRoute autoscaling/HorizontalPodAutoscaler keda.sh/ScaledObject policy/PodDisruptionBudget kyverno.io/ClusterPolicy kyverno.io/Policy mutations.gatekeeper.sh/Assign".split(
    " ",
  );

export const auditedTypes: ReadonlySet<string> = new Set([...workloadTypes, ...relatedTypes]);

const kindOf = (type: string): string => type.split("/")[1]!;
const kinds = new Set([...auditedTypes].map(kindOf));
/** A Node is said to own the static pods that its kubelet makes from files: nothing else describes them, and nothing can change them. */
const makers = new Set([...workloadTypes.map(kindOf), "Node"]);

export function isAuditedKind(kind: string): boolean {
  return kinds.has(kind);
}

export function makesPods(kind: string): boolean {
  return makers.has(kind);
}

/** The workload that has made an object, where its own template says what the object's pods are like. */
export function readOwnerOf({ field }: KubeObject): Field | undefined {
  const owners = field.at("metadata").at("ownerReferences").items();
  return owners.find((one) => makesPods(one.at("kind").text() ?? ""));
}

/** Its pods end when their work is done: nobody sends them requests. */
export function endsByItself(kind: string): boolean {
  return kind === "Job" || kind === "CronJob";
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

/** Its Namespace, where the input has that. */
export function namespaceOf({ namespace }: KubeObject, objects: readonly KubeObject[]): Field | undefined {
  return namespacesIn(objects).find(({ name }) => name === namespace)?.field;
}

const namespacesIn = askedOnce((objects: readonly KubeObject[]) =>
  objects.filter(({ type }) => type === "/Namespace"),
);

export function annotationOf(object: Field, name: string): Field {
  return object.at("metadata").at("annotations").at(name);
}

export function annotationsIn(object: Field): Annotations {
  return {
    get: (name) => annotationOf(object, name).text(),
    names: () =>
      object
        .at("metadata")
        .at("annotations")
        .entries()
        .map(([name]) => name),
  };
}
