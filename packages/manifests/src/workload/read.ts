import { readDocuments } from "../documents.ts";
import type { Field } from "../field.ts";
import { readPod } from "./pod.ts";
import { readServingPort } from "./service.ts";
import { defaultStrategy, readDeploymentStrategy, readStatefulSetStrategy } from "./strategy.ts";
import type { Strategy, Workload } from "./template.ts";
import { contentsOf, mustBeName } from "./volumes.ts";

const kinds = ["Deployment", "StatefulSet", "Pod"] as const;
type Kind = (typeof kinds)[number];

/** Kinds that run pods in ways that have no rollout of replicas. */
const otherWorkloads = ["DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob"];

/**
 * Reads the one workload of a manifest, and the Service that leads to it.
 * @param file - named in the places of errors.
 * @throws ManifestError with file:line:column
 */
export function readManifest(text: string, file: string, command?: readonly string[]): Workload {
  const { objects, source } = readDocuments(text, file);
  const { kind, workload } = findWorkload(objects);
  const metadata = workload.at("metadata");
  const spec = workload.at("spec");
  const template = kind === "Pod" ? workload : spec.at("template");
  const prefix = metadata.at("generateName").text();
  const pod = readPod(
    template.at("metadata"),
    template.at("spec"),
    mustBeName(metadata.at("name"), metadata.at("name").text() ?? prefix?.replace(/-$/, "")),
    metadata.at("namespace").text() ?? "default",
    contentsOf(objects),
    command,
  );
  const port = readServingPort(ofKind(objects, "Service"), pod, workload);
  return {
    kind,
    template: { ...pod, port },
    replicas: kind === "Pod" ? 1 : spec.at("replicas").whole(0, 1),
    strategy: readStrategy(kind, spec),
    minReadySeconds: kind === "Pod" ? 0 : spec.at("minReadySeconds").whole(0, 0),
    progressDeadlineSeconds: kind === "Deployment" ? spec.at("progressDeadlineSeconds").whole(1, 600) : 600,
    warnings: source.warnings,
  };
}

function findWorkload(objects: readonly Field[]): { kind: Kind; workload: Field } {
  const found = objects.flatMap((object) => {
    const kind = kinds.find((candidate) => candidate === kindOf(object));
    return kind ? [{ kind, workload: object }] : [];
  });
  const [first, second] = found;
  if (second)
    second.workload
      .at("kind")
      .fail("LAMEDUCK_MANIFEST_SEVERAL_WORKLOADS", `${second.kind} is the second workload of the file`);
  for (const object of objects)
    if (otherWorkloads.includes(kindOf(object)))
      object.at("kind").fail("LAMEDUCK_MANIFEST_UNKNOWN_KIND", `${kindOf(object)} cannot be rolled here`);
  if (first) return first;
  const [other] = objects;
  return other!
    .at("kind")
    .fail(
      "LAMEDUCK_MANIFEST_UNKNOWN_KIND",
      `${objects.map(kindOf).join(", ")}: there is no workload in the file`,
    );
}

function kindOf(object: Field): string {
  return object.at("kind").mustText();
}

function ofKind(objects: readonly Field[], kind: string): Field[] {
  return objects.filter((object) => kindOf(object) === kind);
}

/** A bare Pod is not replaced in a cluster. Here it is rolled as a Deployment would be, so that it can be tried at all. */
function readStrategy(kind: Kind, spec: Field): Strategy {
  switch (kind) {
    case "Deployment":
      return readDeploymentStrategy(spec);
    case "StatefulSet":
      return readStatefulSetStrategy(spec);
    case "Pod":
      return defaultStrategy;
  }
}
