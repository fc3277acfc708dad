import { withoutUndefined } from "@lameduck/drain/common";
import { constants } from "node:os";
import { normalize } from "node:path/posix";
import { readEnvironment } from "./environment.ts";
import type { Field } from "../field.ts";
import { readHook, readPort, readProbe } from "./handlers.ts";
import type {
  ContainerPort,
  ContainerTemplate,
  InitContainerTemplate,
  Mount,
  Security,
  VolumeFile,
} from "./template.ts";
import type { Contents, Volumes } from "./volumes.ts";

const known =
  "name command args workingDir env envFrom ports volumeMounts lifecycle startupProbe livenessProbe readinessProbe restartPolicy";

/** Fields about the node or the terminal, which do not exist here, and those that only an image makes use of. */
const meaningless =
  "image imagePullPolicy resources securityContext terminationMessagePath terminationMessagePolicy stdin stdinOnce tty";

export interface PodSurroundings {
  readonly graceSeconds: number;
  readonly volumes: Volumes;
  readonly contents: Contents;
  /** That of the pod, for what a container's own does not say. */
  readonly securityContext: Field;
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
  const image = given ? undefined : field.at("image").text();
  const command = field.at("command").texts();
  const args = field.at("args").texts();
  if (!given && image === undefined && command.length === 0)
    field.fail("LAMEDUCK_MANIFEST_NO_COMMAND", `container ${name} has no image and no command`);
  return withoutUndefined({
    name,
    image: image === undefined ? undefined : { name: image, place: field.at("image").place },
    // These are plain texts, not references to variables.
    command:
      given?.map((word) => word.replaceAll("$", () => "$$")) ??
      (command.length > 0 ? [...command, ...args] : []),
    args: given || command.length > 0 || args.length === 0 ? undefined : args,
    security:
      image === undefined ? undefined : readSecurity(field.at("securityContext"), pod.securityContext),
    workingDirectory,
    env: readEnvironment(field, pod.contents),
    ports,
    startup: readProbe(field.at("startupProbe"), "startup", ports),
    liveness: readProbe(field.at("livenessProbe"), "liveness", ports),
    readiness: readProbe(field.at("readinessProbe"), "readiness", ports),
    postStart: readHook(lifecycle.at("postStart"), ports, pod.graceSeconds),
    preStop: readHook(lifecycle.at("preStop"), ports, pod.graceSeconds),
    stopSignal: readStopSignal(lifecycle.at("stopSignal")),
    mounts: readMounts(field.at("volumeMounts"), pod.volumes),
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

function readSecurity(own: Field, ofPod: Field): Security {
  const number = (key: string): number | undefined =>
    own.at(key).exists
      ? own.at(key).whole(0, 0)
      : ofPod.at(key).exists
        ? ofPod.at(key).whole(0, 0)
        : undefined;
  const flag = (field: Field): true | undefined => (field.plain() === true ? true : undefined);
  const nonRoot = own.at("runAsNonRoot").exists ? own : ofPod;
  const groups = ofPod
    .at("supplementalGroups")
    .items()
    .map((group) => group.numberOrText());
  const fsGroup = ofPod.at("fsGroup").numberOrText();
  return withoutUndefined({
    user: number("runAsUser"),
    group: number("runAsGroup"),
    mustNotBeRoot: flag(nonRoot.at("runAsNonRoot")),
    groups: [...groups, fsGroup].filter((group) => typeof group === "number"),
    isRootReadOnly: flag(own.at("readOnlyRootFilesystem")),
    noNewPrivileges: own.at("allowPrivilegeEscalation").plain() === false ? true : undefined,
    droppedCapabilities: own
      .at("capabilities")
      .at("drop")
      .texts()
      .map((name) => name.toUpperCase().replace(/^CAP_/, "")),
  });
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

function readMounts(field: Field, { emptyDirs, filled, others }: Volumes): Mount[] {
  return field.items().flatMap((mount) => {
    const volume = mount.at("name").mustText();
    const path = normalize(mount.at("mountPath").mustText()).replace(/(?<=.)\/$/, "");
    if (!path.startsWith("/") || path === "/")
      mount.at("mountPath").invalid(`${path} is no absolute path below the root`);
    const files = filled.find(({ name }) => name === volume)?.files;
    if (others.includes(volume) || (files && mount.at("subPathExpr").exists)) {
      mount.warn(`${path} is left as it is: volume ${volume} is no emptyDir, and not of this file alone`);
      return [];
    }
    if (files) return [{ volume, path, ...partOf(mount.at("subPath"), files) }];
    if (!emptyDirs.includes(volume)) mount.at("name").invalid(`there is no volume "${volume}"`);
    for (const key of ["subPath", "subPathExpr"])
      if (mount.at(key).exists)
        mount.at(key).fail("LAMEDUCK_MANIFEST_UNSUPPORTED", "is not supported by the local stage");
    return [{ volume, path }];
  });
}

function partOf(field: Field, files: readonly VolumeFile[]): Pick<Mount, "subPath" | "isFile"> {
  if (!field.exists) return {};
  const subPath = normalize(field.mustText()).replace(/(?<=.)\/$/, "");
  const isFile = files.some(({ path }) => path === subPath);
  if (!isFile && !files.some(({ path }) => path.startsWith(`${subPath}/`)))
    field.invalid(`its volume has no file ${subPath}`);
  return { subPath, isFile };
}
