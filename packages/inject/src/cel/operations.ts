import { initVolumeKeys, initVolumeMount, initVolumeName, copyContainer, orderPath } from "../init-volume.ts";
import {
  initVolumePath,
  initFile,
  registerFile,
  coordinatorVariable,
  injectedAnnotation,
  probeAnnotation,
} from "@lameduck/protocol";
import { orderMount, sharedOrder } from "../hook.ts";
import type { ClusterFacts } from "../injection.ts";
import { loader } from "../node-options.ts";
import {
  longestProbePeriod,
  probeActions,
  probeFields,
  probePeriodVariable,
  usualProbePeriod,
  coordinatorVariables,
} from "../variables.ts";
import { handedOn, options, type HandedOn } from "@lameduck/options";
import type { InjectionSettings } from "../policy/settings.ts";
import { constant, lesser, literal } from "./expression.ts";
import { revisionVariable, type Variable } from "./settings.ts";

const containers = "object.spec.containers";
const env = "c.?env.orValue([])";

/** What each container gets: as `hookOf`, `variablesFor` and `nodeOptionsFor` say it. */
export function containerVariables({ coordinator }: ClusterFacts): Variable[] {
  const ownSleep = "c.?lifecycle.?preStop.?sleep.?seconds.orValue(0)";
  return [
    { name: "isHooked", expression: `variables.does.map(d, d in ["hold", "follow"] && variables.hold >= 1)` },
    {
      name: "isCarried",
      expression: `variables.does.transformList(i, d, variables.byEvidence && (variables.isHooked[i] || d == "instrument"))`,
    },
    {
      name: "preStop",
      expression:
        `${containers}.transformList(i, c, variables.isHooked[i] ? variables.hold : ` +
        `!c.?lifecycle.?preStop.hasValue() ? 0 : c.?lifecycle.?preStop.?sleep.hasValue() ? ${ownSleep} : -1)`,
    },
    { name: "addsGrace", expression: `${containers}.map(c, !(${hasVariable(options.grace.variable)}))` },
    {
      name: "addsPreStop",
      expression: `${containers}.transformList(i, c, variables.preStop[i] >= 0 && (variables.isHooked[i] || variables.preStop[i] < variables.graceStated) && !(${hasVariable(options.prestop.variable)}))`,
    },
    { name: "probePeriods", expression: `${containers}.map(c, ${probePeriods()})` },
    {
      name: "addsProbePeriods",
      expression: `${containers}.transformList(i, c, variables.probePeriods[i] != "" && !(${hasVariable(probePeriodVariable)}))`,
    },
    {
      name: "addsCoordinator",
      expression: `${containers}.transformList(i, c, ${coordinator === undefined ? "false" : `variables.single[i] != "follow" && !(${hasVariable(coordinatorVariable)})`})`,
    },
    {
      name: "isChanged",
      expression: `variables.does.transformList(i, d, variables.isHooked[i] || d == "instrument" || variables.addsGrace[i] || variables.addsPreStop[i] || variables.addsProbePeriods[i] || variables.addsCoordinator[i])`,
    },
    {
      name: "applies",
      expression: [
        "variables.inject && !variables.isLeftAlone && variables.isExposed",
        `variables.does.exists(d, d != "nothing" && (d != "follow" || variables.isInjected))`,
        "(!variables.isStopped || variables.hold >= 1)",
        "variables.isChanged.exists(one, one)",
      ].join(" && "),
    },
  ];
}

/** Whether the container has this variable. */
function hasVariable(name: string): string {
  return `${env}.exists(e, e.name == ${literal(name)})`;
}

/** As `variablesFor` writes them. */
function probePeriods(): string {
  const isSeen = probeActions.map((action) => `p.?${action}.hasValue()`).join(" || ");
  return (
    `[${probeFields.map((field) => `c.?${field}`).join(", ")}].filter(p, ${isSeen})` +
    `.map(p, p.?periodSeconds.orValue(${usualProbePeriod})).filter(s, s >= 1 && s <= ${longestProbePeriod})` +
    `.map(s, string(s) + "s").join(",")`
  );
}

/** One JSON patch, as `patchOf` makes it. */
export function operations(settings: InjectionSettings, facts: ClusterFacts): string {
  const path = `"/spec/containers/" + string(i)`;
  const add = (at: string, value: string): string => `JSONPatch{op: "add", path: ${at}, value: ${value}}`;
  const each = (condition: string, operation: string): string =>
    `${containers}.transformList(i, c, ${condition}, ${operation})`;
  const variable = (condition: string, name: string, value: string): string =>
    each(condition, add(`${path} + "/env/-"`, `{"name": ${literal(name)}, "value": ${value}}`));
  const once = (condition: string, operation: string): string => `(${condition} ? [${operation}] : [])`;
  const isInstrumented = `variables.does[i] == "instrument"`;
  const hasOptions = `${env}.exists(e, e.name == "NODE_OPTIONS")`;
  const optionsAt = `c.env.map(e, e.name).indexOf("NODE_OPTIONS")`;
  const before = `c.env[${optionsAt}].?value.orValue("")`;
  const secondsOf = (of: string): string => `string(${of}) + "s"`;
  const anyCarried = "variables.isCarried.exists(one, one)";
  const hasInitVolume = `object.spec.?volumes.orValue([]).exists(v, v.name == ${literal(initVolumeName)})`;
  const newInitVolume = `${anyCarried} && !(${hasInitVolume})`;
  const copied = `${newInitVolume} && variables.initVolume == "init-container"`;
  const all = [
    each(
      `${isInstrumented} && ${hasOptions}`,
      add(
        `${path} + "/env/" + string(${optionsAt}) + "/value"`,
        `${before} == "" ? ${literal(loader)} : ${before} + ${literal(` ${loader}`)}`,
      ),
    ),
    each(`${env}.size() == 0 && variables.isChanged[i]`, add(`${path} + "/env"`, "[]")),
    variable("variables.addsGrace[i]", options.grace.variable, secondsOf("variables.graceStated")),
    variable("variables.addsPreStop[i]", options.prestop.variable, secondsOf("variables.preStop[i]")),
    variable("variables.addsProbePeriods[i]", probePeriodVariable, "variables.probePeriods[i]"),
    variable(isInstrumented, options.cap.variable, secondsOf("variables.hold")),
    ...handedOn.map((one) =>
      variable(`${isInstrumented} && variables.${one.option} >= 0`, one.variable, secondsOf(bounded(one))),
    ),
    ...(facts.coordinator === undefined ? [] : coordinatorVariables(facts.coordinator)).map((one) =>
      each(
        `variables.addsCoordinator[i] && !(${hasVariable(one.name)})`,
        add(`${path} + "/env/-"`, constant(one)),
      ),
    ),
    variable(`${isInstrumented} && !(${hasOptions})`, "NODE_OPTIONS", literal(loader)),
    each(
      `c.?volumeMounts.orValue([]).size() == 0 && variables.isCarried[i]`,
      add(`${path} + "/volumeMounts"`, "[]"),
    ),
    each("variables.isCarried[i]", add(`${path} + "/volumeMounts/-"`, constant(initVolumeMount))),
    each(
      "variables.isOrdered && variables.isHooked[i]",
      add(`${path} + "/volumeMounts/-"`, constant(orderMount)),
    ),
    each("variables.isHooked[i] && !has(c.lifecycle)", add(`${path} + "/lifecycle"`, "{}")),
    each("variables.isHooked[i]", add(`${path} + "/lifecycle/preStop"`, hook())),
    once(
      `(${newInitVolume} || variables.isOrdered) && object.spec.?volumes.orValue([]).size() == 0`,
      add(`"/spec/volumes"`, "[]"),
    ),
    once(newInitVolume, add(`"/spec/volumes/-"`, volume(settings))),
    once("variables.isOrdered", add(`"/spec/volumes/-"`, constant(sharedOrder))),
    once(
      `${copied} && object.spec.?initContainers.orValue([]).size() == 0`,
      add(`"/spec/initContainers"`, "[]"),
    ),
    once(copied, add(`"/spec/initContainers/0"`, constant(copyContainer(settings.initImage ?? "")))),
    once(
      "variables.grace > variables.graceBefore",
      add(`"/spec/terminationGracePeriodSeconds"`, "variables.grace"),
    ),
    once("!has(object.metadata.annotations)", add(`"/metadata/annotations"`, "{}")),
    once(
      "true",
      add(
        `"/metadata/annotations/" + jsonpatch.escapeKey(${literal(injectedAnnotation)})`,
        literal(facts.lameduckVersion),
      ),
    ),
  ];
  return `${answered()} +\n(!variables.applies ? [] :\n${all.join(" +\n")})`;
}

/** A probe learns which revision of the policy has seen it, whether or not such a pod is injected. */
function answered(): string {
  const key = literal(probeAnnotation);
  const isAsked = `variables.annotations[?${key}].orValue("") == "policy"`;
  const path = `"/metadata/annotations/" + jsonpatch.escapeKey(${key})`;
  return `(${isAsked} ? [JSONPatch{op: "replace", path: ${path}, value: variables.${revisionVariable}}] : [])`;
}

/** What a pod is told of a setting, as `handedOnBy` says it. */
function bounded({ option }: HandedOn): string {
  return lesser(`variables.${option}`, "variables.hold");
}

function hook(): string {
  const command = [
    literal([`${initVolumePath}/${initFile}`, "wait", "--grace"]),
    `[string(variables.graceStated) + "s", "--prestop", "0s", "--cap", string(variables.hold) + "s"]`,
    ...handedOn.map(
      (one) => `(variables.${one.option} >= 0 ? [${literal(one.flag)}, string(${bounded(one)}) + "s"] : [])`,
    ),
    `(variables.then[i] == "" ? [] : ["--then", variables.then[i]])`,
    `(!variables.isOrdered ? [] : variables.does[i] == "follow" ? variables.awaited : ["--ready-file", ${literal(`${orderPath}/`)} + string(i)])`,
  ].join(" + ");
  return `variables.byEvidence ? dyn({"exec": dyn({"command": ${command}})}) : dyn({"sleep": dyn({"seconds": variables.hold})})`;
}

/** As `holdMethodOf` writes it. */
function volume({ initConfigMap, initImage = "" }: InjectionSettings): string {
  const name = `"name": dyn(${literal(initVolumeName)})`;
  const keys = `${literal(initVolumeKeys)}[variables.architecture]`;
  const items = `[{"key": ${keys}, "path": ${literal(initFile)}}, {"key": ${literal(registerFile)}, "path": ${literal(registerFile)}}]`;
  const configMap = `{"name": dyn(${literal(initConfigMap)}), "optional": dyn(true), "defaultMode": dyn(493), "items": dyn(${items})}`;
  return (
    `variables.initVolume == "configmap" ? dyn({${name}, "configMap": dyn(${configMap})}) : ` +
    `variables.initVolume == "image-volume" ? dyn({${name}, "image": dyn({"reference": ${literal(initImage)}, "pullPolicy": "IfNotPresent"})}) : ` +
    `dyn({${name}, "emptyDir": dyn({"medium": "Memory"})})`
  );
}
