import { assumedArchitecture } from "../init-volume.ts";
import type { ClusterFacts } from "../injection.ts";
import { leastCap, longestSeconds, unknownConvergence, usualGrace, usualReserve } from "../times.ts";
import { annotationOf, settingFields, type SettingName } from "../policy/fields.ts";
import { duration } from "../policy/read.ts";
import { initVolumes, handedOn } from "@lameduck/options";
import type { InjectionSettings } from "../policy/settings.ts";
import { greater, lesser, literal } from "./expression.ts";

export interface Variable {
  readonly name: string;
  readonly expression: string;
}

/** Tells one state of a policy from another: a hash of all else in it. */
export const revisionVariable = "revision";

/** In place of what is not set: no number of seconds is negative. */
const unset = -1;

/** The workload's annotations over the settings that the policy was made for, as `settingsFor` merges them. */
export function settingVariables(settings: InjectionSettings, facts: ClusterFacts): Variable[] {
  const { initImage, convergenceSeconds, maxGracePeriodSeconds } = settings;
  const known = facts.convergenceSeconds?.value ?? unknownConvergence;
  const usable = initVolumes.filter(
    (one) => one === "configmap" || one === "none" || initImage !== undefined,
  );
  const asked = settings.initVolume;
  return [
    { name: "annotations", expression: "object.metadata.?annotations.orValue({})" },
    toggle("inject", settings.inject),
    toggle("instrument", settings.instrumentNode, "instrumentNode"),
    {
      name: "initVolume",
      expression:
        `!(${text("initVolume")} in ${literal(initVolumes)}) ? ${literal(usable.includes(asked) ? asked : "none")} : ` +
        `${text("initVolume")} in ${literal(usable)} ? ${text("initVolume")} : "none"`,
    },
    ...seconds("cap", "capSeconds", settings.capSeconds),
    ...seconds("floorAsked", "floorSeconds", settings.floorSeconds),
    {
      name: "floor",
      expression: `variables.cap >= 0 ? ${lesser("variables.floorAsked", "variables.cap")} : variables.floorAsked`,
    },
    // The floor is bounded by the cap; no other has its own.
    ...handedOn.flatMap(({ option, field }) =>
      option === "floor" ? [] : seconds(option, field, settings[field] as number | undefined),
    ),
    ...seconds("reserveAsked", "reserveSeconds", settings.reserveSeconds),
    ...seconds("graceAsked", "gracePeriodSeconds", settings.gracePeriodSeconds),
    ...seconds("convergence", "convergenceSeconds", convergenceSeconds),
    ...seconds("shutdown", "nodeShutdownSeconds", settings.nodeShutdownSeconds),
    {
      name: "capByWaiting",
      expression: `variables.convergence >= 0 ? ${greater(String(leastCap), "((variables.convergence * 3 + 1) / 2)")} : ${Math.max(leastCap, Math.ceil(known * 1.5))}`,
    },
    {
      name: "capBySleeping",
      expression: `variables.convergence >= 0 ? variables.convergence : ${Math.ceil(known)}`,
    },
    { name: "greatestGrace", expression: String(maxGracePeriodSeconds) },
    { name: "architecture", expression: architecture(settings, facts) },
  ];
}

/** Variables for times alone, once it is known how the signal is held. */
export function timeVariables(): Variable[] {
  const cap =
    "variables.cap >= 0 ? variables.cap : variables.byEvidence ? variables.capByWaiting : variables.capBySleeping";
  const given = "object.spec.terminationGracePeriodSeconds";
  return [
    {
      name: "wantedAlways",
      expression: greater(
        `(variables.byEvidence ? (${cap}) : ${lesser(`(${cap})`, "variables.capBySleeping")})`,
        "variables.floor",
      ),
    },
    {
      name: "reserveAtShutdown",
      expression: lesser(
        greater("variables.reserveAsked", lesser(String(usualReserve), "((variables.shutdown + 2) / 3)")),
        "((variables.shutdown + 1) / 2)",
      ),
    },
    {
      name: "wanted",
      expression:
        "variables.shutdown < 0 ? variables.wantedAlways : " +
        lesser("variables.wantedAlways", "(variables.shutdown - variables.reserveAtShutdown)"),
    },
    {
      name: "graceBefore",
      expression: `has(${given}) && ${given} >= 0 ? ${given} : ${usualGrace}`,
    },
    {
      name: "raised",
      expression:
        `variables.graceAsked >= 0 ? ${lesser("variables.graceAsked", "variables.greatestGrace")} : ` +
        lesser(
          "variables.greatestGrace",
          "(variables.wanted + (variables.reserveAsked >= 0 ? variables.reserveAsked : variables.graceBefore))",
        ),
    },
    {
      name: "grace",
      expression: `variables.isStopped && !variables.isInjected ? ${greater("variables.graceBefore", "variables.raised")} : variables.graceBefore`,
    },
    {
      name: "reserve",
      expression: greater(
        "variables.reserveAsked",
        lesser(String(usualReserve), "((variables.grace + 2) / 3)"),
      ),
    },
    { name: "graceStated", expression: lesser("variables.grace", String(longestSeconds)) },
    { name: "hold", expression: lesser("variables.wanted", "(variables.grace - variables.reserve)") },
  ];
}

/** The text of an annotation; empty where there is none. */
export function text(name: SettingName): string {
  return `variables.annotations[?${literal(annotationOf(name))}].orValue("")`;
}

function toggle(name: string, otherwise: boolean, setting: SettingName = name as SettingName): Variable {
  return { name, expression: `${text(setting)} == "true" || (${text(setting)} != "false" && ${otherwise})` };
}

/** As `readAnnotation` reads it: what is no duration, or out of bounds, is left out. */
function seconds(name: string, setting: SettingName, otherwise: number | undefined): Variable[] {
  const field = settingFields[setting];
  if (field.kind !== "seconds") return [];
  const value = text(setting);
  const digits = `int(${value}.substring(0, ${value}.size() - 1))`;
  const stated = `${name}Stated`;
  return [
    {
      name: stated,
      expression: `${value}.matches(${literal(duration.source)}) ? ${digits} * (${value}.endsWith("m") ? 60 : 1) : ${unset}`,
    },
    {
      name,
      expression: `variables.${stated} >= ${field.least} && variables.${stated} <= ${field.most} ? variables.${stated} : ${otherwise ?? unset}`,
    },
  ];
}

function architecture(settings: InjectionSettings, facts: ClusterFacts): string {
  const selected = `object.spec.?nodeSelector[?"kubernetes.io/arch"]`;
  return (
    `${selected}.hasValue() ? (${selected}.value() in ["amd64", "arm64"] ? ${selected}.value() : "") : ` +
    literal(assumedArchitecture(settings, facts) ?? "")
  );
}
