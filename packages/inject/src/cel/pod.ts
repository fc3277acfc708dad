import {
  frontImages,
  frontPrograms,
  observedPort,
  sidecarImages,
  sidecarNames,
  softwares,
} from "@lameduck/audit";
import { options } from "@lameduck/options";
import {
  initVolumeContainer,
  initVolumeName,
  orderPath,
  reservedNames,
  reservedPaths,
} from "../init-volume.ts";
import { mostAwaited } from "../hook.ts";
import { longestOptions } from "../node-options.ts";
import { injectedAnnotation, declining, injectLabel } from "@lameduck/protocol";
import { mostContainers } from "../pod.ts";
import { imageStopSignals, ownLoaders, ownVariables } from "../software.ts";
import type { InjectionSettings } from "../policy/settings.ts";
import { lastPart, literal } from "./expression.ts";
import { text, type Variable } from "./settings.ts";

const list = (of: string): string => `${of}.orValue([])`;
const containers = "object.spec.containers";

/** What kind of pod it is, and what is done to each of its containers: as `podToInject`, `holdMethodOf` and `actionsOf` decide it. */
export function podVariables(settings: InjectionSettings): Variable[] {
  return [
    { name: "isInjected", expression: `${literal(injectedAnnotation)} in variables.annotations` },
    { name: "isAskedFor", expression: `${text("inject")} == "true"` },
    { name: "isLeftAlone", expression: leftAlone() },
    { name: "isExposed", expression: exposed(settings) },
    { name: "byEvidence", expression: byEvidence() },
    { name: "programs", expression: `${containers}.map(c, ${lastPart('c.?command[?0].orValue("")')})` },
    { name: "images", expression: `${containers}.map(c, ${lastPart('c.?image.orValue("").split("@")[0]')})` },
    {
      name: "imageNames",
      expression: `variables.images.map(i, i.lastIndexOf(":") >= 0 ? i.substring(0, i.lastIndexOf(":")) : i)`,
    },
    { name: "repositories", expression: `${containers}.map(c, ${repository()})` },
    {
      name: "isSidecar",
      expression: `${containers}.transformList(i, c, c.name in ${literal(sidecarNames)} || variables.imageNames[i] in ${literal(sidecarImages)})`,
    },
    { name: "hasApp", expression: "variables.isSidecar.exists(s, !s)" },
    {
      name: "isNode",
      expression: `${containers}.transformList(i, c, (c.?command[?0].hasValue() ? variables.programs[i] : variables.imageNames[i]) == "node" && ${takesNodeOptions()})`,
    },
    { name: "single", expression: `${containers}.transformList(i, c, ${does()})` },
    {
      name: "isFront",
      expression: `${containers}.transformList(i, c, variables.single[i] == "hold" && (c.?command[?0].hasValue() ? variables.programs[i] in ${literal(frontPrograms)} : variables.imageNames[i] in ${literal(frontImages)}))`,
    },
    {
      name: "does",
      expression: `variables.single.transformList(i, d, d == "hold" && !variables.isFront[i] && variables.isFront.exists(f, f) ? "follow" : d)`,
    },
    { name: "then", expression: `${containers}.transformList(i, c, ${then()})` },
    { name: "isStopped", expression: `variables.does.exists(d, d == "hold" || d == "instrument")` },
    {
      name: "isOrdered",
      expression: `variables.byEvidence && !variables.isInjected && "hold" in variables.does && "follow" in variables.does`,
    },
    { name: "awaited", expression: awaited() },
  ];
}

function leftAlone(): string {
  return [
    `${containers}.size() > ${mostContainers}`,
    `"kubernetes.io/config.mirror" in variables.annotations`,
    `variables.annotations[?"kubernetes.io/config.source"].orValue("") == "file"`,
    `(!variables.isAskedFor && (${[
      `${list("object.metadata.?ownerReferences")}.exists(o, o.kind == "Job")`,
      "has(object.spec.activeDeadlineSeconds)",
      `object.spec.?restartPolicy.orValue("Always") != "Always"`,
    ].join(" || ")}))`,
    `object.spec.?nodeSelector[?"kubernetes.io/os"].orValue("") == "windows"`,
    `object.spec.?nodeSelector[?"beta.kubernetes.io/os"].orValue("") == "windows"`,
    `object.spec.?os.?name.orValue("") == "windows"`,
    `object.spec.?securityContext.?windowsOptions.hasValue()`,
    "object.spec.?terminationGracePeriodSeconds.orValue(30) == 0",
    `${text("inject")} == "false"`,
    `object.metadata.?labels[?${literal(injectLabel)}].orValue("") in ${literal(declining)}`,
  ].join(" || ");
}

/** No policy can look for Services: ports that are declared count, or the annotation. */
function exposed({ onlyExposed }: InjectionSettings): string {
  const port = `${containers}.exists(c, ${list("c.?ports")}.exists(p, p.?protocol.orValue("TCP") == "TCP" && !p.?name.orValue("").matches(${literal(observedPort.source)})))`;
  return `${text("serves")} == "true" || (${text("serves")} != "false" && ${onlyExposed ? port : "true"})`;
}

/** Whether lameduck-init can be brought into the pod. */
function byEvidence(): string {
  const within = reservedPaths
    .map((path) => `p == ${literal(path)} || p.startsWith(${literal(`${path}/`)})`)
    .join(" || ");
  const paths = `(${list("c.?volumeMounts")}.map(m, m.mountPath) + ${list("c.?volumeDevices")}.map(d, d.devicePath))`;
  const isTaken =
    `(!variables.isInjected && ${list("object.spec.?volumes")}.exists(v, v.name in ${literal(reservedNames)})) || ` +
    `${containers}.exists(c, !(variables.isInjected && ${list("c.?env")}.exists(e, e.name == ${literal(options.grace.variable)})) && ${paths}.exists(p, ${within}))`;
  const isThere = `variables.isInjected && ${list("object.spec.?volumes")}.exists(v, v.name == ${literal(initVolumeName)})`;
  const named = (of: string): string => `${of}.exists(c, c.name == ${literal(initVolumeContainer)})`;
  const hasOurName = `!(${isThere}) && (${named(containers)} || ${named(list("object.spec.?initContainers"))})`;
  return (
    `variables.initVolume != "none" && !object.spec.?hostNetwork.orValue(false) && ` +
    `!(${isTaken}) && (variables.initVolume != "init-container" || !(${hasOurName})) && (variables.initVolume != "configmap" || variables.architecture != "")`
  );
}

/** The image's name, without tag and digest. */
function repository(): string {
  const image = 'c.?image.orValue("").split("@")[0]';
  return `(${image}.lastIndexOf(":") > ${image}.lastIndexOf("/") ? ${image}.substring(0, ${image}.lastIndexOf(":")) : ${image})`;
}

/** What `envFrom` holds is not to be seen, and a reference cannot be added to. */
function takesNodeOptions(): string {
  const named = `${list("c.?env")}.filter(e, e.name == "NODE_OPTIONS")`;
  return `${list("c.?envFrom")}.size() == 0 && (${named}.size() == 0 || (${named}.size() == 1 && !has(${named}[0].valueFrom) && ${named}[0].?value.orValue("").size() <= ${longestOptions}))`;
}

function does(): string {
  const env = list("c.?env");
  const loads = (word: string): string =>
    ownLoaders.map((one) => `${word}.contains(${literal(one)})`).join(" || ");
  const words = `(${list("c.?command")} + ${list("c.?args")})`;
  const isTold = `${env}.exists(e, e.name.matches(${literal(ownVariables.source)}) || (e.name == "NODE_OPTIONS" && (${loads('e.?value.orValue("")')})))`;
  const own = `variables.programs[i] == "lameduck-init" || ${words}.exists(w, ${loads("w")}) || ${isTold}`;
  const hook = 'c.?lifecycle.?preStop.?exec.?command[?0].orValue("")';
  return [
    `variables.isInjected && ${env}.exists(e, e.name == ${literal(options.grace.variable)}) ? "nothing"`,
    `${own} ? "own"`,
    `c.?lifecycle.?preStop.hasValue() ? (${lastPart(hook)} == "lameduck-init" ? "own" : "nothing")`,
    `variables.hasApp && variables.isSidecar[i] ? "follow"`,
    `variables.instrument && variables.byEvidence && variables.isNode[i] ? "instrument"`,
    `"hold"`,
  ].join(" : ");
}

/** The flags by which a sidecar follows the first containers that hold. */
function awaited(): string {
  const before = `variables.does.transformList(k, one, one == "hold" && k < j, k).size()`;
  return `variables.does.transformList(j, one, one == "hold" && ${before} < ${mostAwaited}, ${literal(`--wait-for=${orderPath}/`)} + string(j))`;
}

/** The signal for `--then`; empty where the kubelet's own will do, as far as is known. */
function then(): string {
  const graceful = softwares.filter((one) => one.graceful !== undefined);
  const tableOf = (names: (one: (typeof softwares)[number]) => readonly string[]): string =>
    literal(
      Object.fromEntries(graceful.flatMap((one) => names(one).map((name) => [name, one.graceful ?? ""]))),
    );
  const signal =
    `(c.?command[?0].hasValue() ? ${tableOf(({ programs }) => programs)}[?variables.programs[i]] : ` +
    `${tableOf(({ images }) => images)}[?variables.imageNames[i]])`;
  return (
    `c.?lifecycle.?stopSignal.hasValue() || ${signal}.orValue("") == ${literal(imageStopSignals)}[?variables.repositories[i]].orValue("") ? "" : ` +
    `${signal}.orValue("").replace("SIG", "")`
  );
}
