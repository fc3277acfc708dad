import { readContainer, readInitContainer, type PodSurroundings } from "./container.ts";
import type { ConfigMaps } from "./environment.ts";
import type { Field } from "../field.ts";
import type { PodTemplate } from "./template.ts";

const known = ["containers", "initContainers", "terminationGracePeriodSeconds", "restartPolicy", "volumes"];

/** Fields that say where the pod runs, as which user and with which rights. Here that is this machine and its user. */
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
  configMaps: ConfigMaps,
  given?: readonly string[],
): Omit<PodTemplate, "port"> {
  spec.onlyKnows(known, meaningless.split(" "));
  const graceSeconds = spec.at("terminationGracePeriodSeconds").whole(0, 30);
  const volumes = spec.at("volumes").items();
  const emptyDirs = volumes
    .filter((volume) => volume.entries().some(([key]) => key === "emptyDir"))
    .map(nameOf);
  const surroundings: PodSurroundings = {
    graceSeconds,
    emptyDirs,
    otherVolumes: volumes.map(nameOf).filter((volume) => !emptyDirs.includes(volume)),
    configMaps,
  };
  const containers = spec.at("containers").items();
  if (containers.length === 0)
    spec.at("containers").fail("LAMEDUCK_MANIFEST_NO_CONTAINER", "there is no container");
  const serving = given && servingOf(containers);
  // Images cannot be run beside a given command, either. A container without a command is left out.
  const runs = (container: Field): boolean => {
    const canRun = given === undefined || container === serving || container.at("command").exists;
    if (!canRun) container.warn("is left out: it has an image and no command");
    return canRun;
  };
  return {
    name,
    namespace,
    labels: metadata.at("labels").textMap(),
    annotations: metadata.at("annotations").textMap(),
    initContainers: spec
      .at("initContainers")
      .items()
      .filter(runs)
      .map((container) => readInitContainer(container, surroundings)),
    containers: containers
      .filter(runs)
      .map((container) => readContainer(container, surroundings, container === serving ? given : undefined)),
    graceSeconds,
    restartPolicy: spec.at("restartPolicy").oneOf(["Always", "OnFailure", "Never"], "Always"),
    emptyDirs,
  };
}

/** The container that a given command is for: one without a command of its own before others, one with ports before others. */
function servingOf(containers: readonly Field[]): Field | undefined {
  const imagesOnly = containers.filter((container) => !container.at("command").exists);
  const candidates = imagesOnly.length > 0 ? imagesOnly : containers;
  return candidates.find((container) => container.at("ports").exists) ?? candidates[0];
}

function nameOf(field: Field): string {
  return field.at("name").mustText();
}
