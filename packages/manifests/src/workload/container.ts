import { withoutUndefined } from "@lameduck/drain/common";
import { constants } from "node:os";
import { normalize } from "node:path/posix";
import { readEnvironment, type ConfigMaps } from "./environment.ts";
import type { Field } from "../field.ts";
import { readHook, readPort, readProbe } from "./handlers.ts";
import type { ContainerPort, ContainerTemplate, InitContainerTemplate, Mount } from "./template.ts";

const known =
  "name command args workingDir env envFrom ports volumeMounts lifecycle startupProbe livenessProbe readinessProbe restartPolicy";

/** Fields about the image, the node or the terminal, which do not exist here. */
const meaningless =
  "image imagePullPolicy resources securityContext terminationMessagePath terminationMessagePolicy stdin stdinOnce tty";

export interface PodSurroundings {
  readonly graceSeconds: number;
  readonly emptyDirs: readonly string[];
  /** Volumes of other kinds, which this machine cannot provide. */
  readonly otherVolumes: readonly string[];
  readonly configMaps: ConfigMaps;
}

/** @param given a program of this machine, instead of the container's own. */
export function readContainer(
  field: Field,
  pod: PodSurroundings,
  given?: readonly string[],
): ContainerTemplate {
  field.onlyKnows(known.split(" "), meaningless.split(" "));
  const name = field.at("name").mustText();
  const ports = readPorts(field.at("ports"));
  const own = field.at("workingDir");
  if (given && own.exists) own.warn("is left out: the given command starts where the lab does");
  const workingDirectory = given ? undefined : own.text();
  const lifecycle = field.at("lifecycle");
  return withoutUndefined({
    name,
    // These are plain texts, not references to variables.
    command: given?.map((word) => word.replaceAll("$", () => "$$")) ?? readCommand(field, name),
    workingDirectory,
    env: readEnvironment(field, pod.configMaps),
    ports,
    startup: readProbe(field.at("startupProbe"), "startup", ports),
    liveness: readProbe(field.at("livenessProbe"), "liveness", ports),
    readiness: readProbe(field.at("readinessProbe"), "readiness", ports),
    postStart: readHook(lifecycle.at("postStart"), ports, pod.graceSeconds),
    preStop: readHook(lifecycle.at("preStop"), ports, pod.graceSeconds),
    stopSignal: readStopSignal(lifecycle.at("stopSignal")),
    mounts: readMounts(field.at("volumeMounts"), pod),
  });
}

export function readInitContainer(field: Field, pod: PodSurroundings): InitContainerTemplate {
  const policy = field.at("restartPolicy");
  if (policy.exists) policy.oneOf(["Always"], "Always");
  if (!policy.exists)
    for (const key of ["lifecycle", "startupProbe", "livenessProbe", "readinessProbe"])
      if (field.at(key).exists)
        field.at(key).invalid("is only for init containers with restartPolicy: Always");
  return { ...readContainer(field, pod), sidecar: policy.exists };
}

function readCommand(field: Field, name: string): string[] {
  const command = field.at("command").texts();
  if (command.length > 0) return [...command, ...field.at("args").texts()];
  const image = field.at("image").text();
  return field.fail(
    "LAMEDUCK_MANIFEST_NO_COMMAND",
    `container ${name} has ${image ? `the image ${image} and ` : ""}no command`,
  );
}

/** The field counts as on an API server with ContainerStopSignals. Without it an API server drops the field. */
function readStopSignal(field: Field): string | undefined {
  const signal = field.text();
  if (signal === undefined) return undefined;
  if (!(signal in constants.signals)) field.invalid(`"${signal}" is no signal`, "write it as SIGQUIT");
  field.warn("is obeyed here, and by clusters with the feature gate ContainerStopSignals only");
  return signal;
}

function readPorts(field: Field): ContainerPort[] {
  return field
    .items()
    .filter((port) => port.at("protocol").oneOf(["TCP", "UDP", "SCTP"], "TCP") === "TCP")
    .map((port) => {
      const name = port.at("name").text();
      return { port: readPort(port.at("containerPort"), []), ...(name ? { name } : {}) };
    });
}

function readMounts(field: Field, pod: PodSurroundings): Mount[] {
  return field.items().flatMap((mount) => {
    const volume = mount.at("name").mustText();
    const path = normalize(mount.at("mountPath").mustText()).replace(/(?<=.)\/$/, "");
    if (!path.startsWith("/") || path === "/")
      mount.at("mountPath").invalid(`${path} is no absolute path below the root`);
    if (pod.otherVolumes.includes(volume)) {
      mount.warn(`${path} is left as this machine has it: volume ${volume} is no emptyDir`);
      return [];
    }
    if (!pod.emptyDirs.includes(volume)) mount.at("name").invalid(`there is no volume "${volume}"`);
    for (const key of ["subPath", "subPathExpr"])
      if (mount.at(key).exists)
        mount.at(key).fail("LAMEDUCK_MANIFEST_UNSUPPORTED", "is not supported by the local stage");
    return [{ volume, path }];
  });
}
