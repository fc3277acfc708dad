import { readContainer, readInitContainer, type PodSurroundings } from "./container.ts";
import type { Field } from "../field.ts";
import type { PodTemplate } from "./template.ts";
import { readVolumes, type Contents } from "./volumes.ts";

const known = [
  "containers",
  "initContainers",
  "readinessGates",
  "restartPolicy",
  "terminationGracePeriodSeconds",
  "volumes",
];

/** Fields that say where the pod runs, and with which rights. Here that is this machine. Images make use of securityContext. */
const meaningless =
  "affinity automountServiceAccountToken dnsConfig dnsPolicy enableServiceLinks hostname imagePullSecrets nodeName " +
  "nodeSelector os preemptionPolicy priority priorityClassName resources runtimeClassName schedulerName securityContext " +
  "serviceAccount serviceAccountName subdomain tolerations topologySpreadConstraints";

/** The template except its port, which depends on the Service. */
export function readPod(
  metadata: Field,
  spec: Field,
  name: string,
  namespace: string,
  contents: Contents,
  given?: readonly string[],
): Omit<PodTemplate, "port"> {
  spec.onlyKnows(known, meaningless.split(" "));
  const gates = spec.at("readinessGates");
  if (gates.exists)
    gates.warn("is left out: whoever sets these gates is not here, and pods count as Ready without them");
  const graceSeconds = spec.at("terminationGracePeriodSeconds").whole(0, 30);
  const volumes = readVolumes(spec, contents);
  const surroundings: PodSurroundings = {
    graceSeconds,
    volumes,
    contents,
    securityContext: spec.at("securityContext"),
  };
  const containers = spec.at("containers").items();
  if (containers.length === 0)
    spec.at("containers").fail("LAMEDUCK_MANIFEST_NO_CONTAINER", "there is no container");
  const serving = given && servingOf(containers);
  return {
    name,
    namespace,
    labels: metadata.at("labels").textMap(),
    annotations: metadata.at("annotations").textMap(),
    initContainers: spec
      .at("initContainers")
      .items()
      .map((container) => readInitContainer(container, surroundings)),
    containers: containers.map((container) =>
      readContainer(container, surroundings, container === serving ? given : undefined),
    ),
    graceSeconds,
    restartPolicy: spec.at("restartPolicy").oneOf(["Always", "OnFailure", "Never"], "Always"),
    emptyDirs: volumes.emptyDirs,
    filled: volumes.filled,
  };
}

/** The container that a given command is for: one without a command of its own before others, one with ports before others. */
function servingOf(containers: readonly Field[]): Field | undefined {
  const imagesOnly = containers.filter((container) => !container.at("command").exists);
  const candidates = imagesOnly.length > 0 ? imagesOnly : containers;
  return candidates.find((container) => container.at("ports").exists) ?? candidates[0];
}
