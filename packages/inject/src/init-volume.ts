import { initVolumePath, initFile, oldestKubernetes, registerFile, isMap } from "@lameduck/protocol";
import { architectures, options } from "@lameduck/options";
import type { Architecture, InjectionSettings } from "./policy/settings.ts";
import type { ClusterFacts } from "./injection.ts";
import { mapsIn, textOf, type PodView } from "./pod.ts";

export const initVolumeName = "lameduck-init-volume";
export const initVolumeContainer = "lameduck-init-volume";
/** Files by which containers of a pod tell each other, named by the number of the container: its name is a stranger's. */
export const orderPath = "/lameduck-order";
export const orderVolume = "lameduck-order";
export const reservedNames: readonly string[] = [initVolumeName, orderVolume];
export const reservedPaths: readonly string[] = [initVolumePath, orderPath];
/** Keys of the ConfigMap: it holds a binary for each processor, and the register bundle. */
export const initVolumeKeys: Readonly<Record<Architecture, string>> = {
  amd64: "lameduck-init-amd64",
  arm64: "lameduck-init-arm64",
};

type Raw = Readonly<Record<string, unknown>>;

/** How a stop signal is held in this pod, and what that needs. */
export interface HoldMethod {
  readonly kind: "wait" | "sleep" | "nothing";
  /** Why it is no `wait`; empty where that was asked for. */
  readonly because: string;
  readonly volume?: Raw;
  readonly mount?: Raw;
  readonly initContainer?: Raw;
}

export const initVolumeMount: Raw = { name: initVolumeName, mountPath: initVolumePath, readOnly: true };

export function holdMethodOf(pod: PodView, settings: InjectionSettings, facts: ClusterFacts): HoldMethod {
  const { initVolume, initImage = "", initConfigMap } = settings;
  if (initVolume === "none") return kubeletSleep("", facts);
  const reason = reasonAgainstInit(pod, settings, facts);
  if (reason !== undefined) return kubeletSleep(reason, facts);
  const base = { kind: "wait", because: "", mount: initVolumeMount } as const;
  if (pod.volumes.some(({ name }) => name === initVolumeName)) return base;
  if (initVolume === "image-volume")
    return {
      ...base,
      volume: { name: initVolumeName, image: { reference: initImage, pullPolicy: "IfNotPresent" } },
    };
  if (initVolume === "init-container")
    return {
      ...base,
      volume: { name: initVolumeName, emptyDir: { medium: "Memory" } },
      initContainer: copyContainer(initImage),
    };
  const architecture = architectureOf(pod, settings, facts) as Architecture;
  const items = [
    { key: initVolumeKeys[architecture], path: initFile },
    { key: registerFile, path: registerFile },
  ];
  // A ConfigMap that is missing leaves the volume empty; the hook then fails at once and SIGTERM follows.
  return {
    ...base,
    volume: {
      name: initVolumeName,
      configMap: { name: initConfigMap, optional: true, defaultMode: 0o755, items },
    },
  };
}

function reasonAgainstInit(
  pod: PodView,
  settings: InjectionSettings,
  facts: ClusterFacts,
): string | undefined {
  if (pod.spec["hostNetwork"] === true)
    return "hostNetwork: the kernel counts the connections of the whole node";
  // A container of an earlier pass already has our mounts.
  const hasGracePeriod = (one: Raw): boolean =>
    pod.isInjected && mapsIn(one["env"]).some(({ name }) => name === options.grace.variable);
  const isTaken =
    (!pod.isInjected && pod.volumes.some(({ name }) => reservedNames.includes(textOf(name)))) ||
    pod.containers.some((one) => !hasGracePeriod(one) && pathsOf(one).some(isWithin));
  if (isTaken)
    return `the pod has a volume or a mount of its own where ${initVolumePath} and ${orderPath} should be`;
  // Two containers of one name are refused, and the pod with them.
  if (settings.initVolume === "init-container" && hasOurName(pod))
    return `the pod has a container of its own that is called ${initVolumeContainer}`;
  // An API server that does not know the field drops it, and refuses a volume without a source.
  if (settings.initVolume === "image-volume" && !isAtLeast(facts, oldestKubernetes.imageVolume, false))
    return `image volumes need Kubernetes 1.${oldestKubernetes.imageVolume}, as it is known`;
  if (settings.initVolume === "configmap" && architectureOf(pod, settings, facts) === undefined)
    return "the nodes have several processors and the pod selects none by kubernetes.io/arch, or one without a binary";
  return undefined;
}

function hasOurName({ spec, containers, isInjected, volumes }: PodView): boolean {
  const isThere = isInjected && volumes.some(({ name }) => name === initVolumeName);
  return (
    !isThere &&
    [...containers, ...mapsIn(spec["initContainers"])].some(({ name }) => name === initVolumeContainer)
  );
}

/** Where file systems and block devices are mounted. */
function pathsOf({ volumeMounts, volumeDevices }: Raw): string[] {
  return [
    ...mapsIn(volumeMounts).map(({ mountPath }) => textOf(mountPath)),
    ...mapsIn(volumeDevices).map(({ devicePath }) => textOf(devicePath)),
  ];
}

function isWithin(path: string): boolean {
  return reservedPaths.some((own) => path === own || path.startsWith(`${own}/`));
}

/** That of the node is not known before the pod is scheduled. */
function architectureOf(
  { spec }: PodView,
  settings: InjectionSettings,
  facts: ClusterFacts,
): Architecture | undefined {
  const selected = isMap(spec["nodeSelector"]) ? spec["nodeSelector"]["kubernetes.io/arch"] : undefined;
  if (selected !== undefined) return architectures.find((one) => one === selected);
  return assumedArchitecture(settings, facts);
}

export function assumedArchitecture(
  settings: Pick<InjectionSettings, "architecture">,
  { architectures: known }: Pick<ClusterFacts, "architectures">,
): Architecture | undefined {
  if (settings.architecture !== undefined) return settings.architecture;
  if (known === undefined) return "amd64";
  return known.length === 1 ? known[0] : undefined;
}

function kubeletSleep(because: string, facts: ClusterFacts): HoldMethod {
  return isAtLeast(facts, oldestKubernetes.sleep, true)
    ? { kind: "sleep", because }
    : {
        kind: "nothing",
        because: because || `the kubelet sleeps by itself since Kubernetes 1.${oldestKubernetes.sleep} only`,
      };
}

function isAtLeast({ version }: Pick<ClusterFacts, "version">, minor: number, otherwise: boolean): boolean {
  return version === undefined ? otherwise : version.major > 1 || version.minor >= minor;
}

/** Goes on without a file that is not there: a pod that cannot be held must start all the same. */
const copyScript = [initFile, registerFile]
  .map((file) => `try{require("fs").copyFileSync("/${file}","${initVolumePath}/${file}")}catch{}`)
  .join(";");

/** Node of Lameduck's image copies what lies at its top; as Pod Security "restricted" wants it. */
export function copyContainer(image: string): Raw {
  return {
    name: initVolumeContainer,
    image,
    command: ["/usr/local/bin/node", "-e", copyScript],
    // Requests as limits: a pod of class Guaranteed stays one, and a quota that asks for limits lets it pass.
    resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { cpu: "100m", memory: "128Mi" } },
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ["ALL"] },
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      runAsUser: 65_532,
      seccompProfile: { type: "RuntimeDefault" },
    },
    volumeMounts: [{ name: initVolumeName, mountPath: initVolumePath }],
  };
}
