import { factNames } from "@lameduck/audit/facts";
import { nearest } from "@lameduck/drain";
import { acknowledgementProblems } from "./acknowledgements.ts";
import {
  annotationOf,
  annotationPrefix,
  ascending,
  settingFields,
  settingNames,
  type SettingName,
} from "./fields.ts";
import {
  apiVersion,
  formerSleepAnnotation,
  heldMark,
  holdLabel,
  injectedAnnotation,
  isMap,
  probeAnnotation,
} from "@lameduck/protocol";
import { readAnnotation, readValue, type Problem, briefly, unknownNames } from "./read.ts";
import type { InjectionSettings } from "./settings.ts";

/** One policy in a namespace is enough, and its name tells which. */
export const policyName = "default";

/** What is wrong with a DrainPolicy, all of it. */
export function validatePolicy(object: unknown): Problem[] {
  if (!isMap(object))
    return [{ field: "", message: `is no object but ${briefly(object)}`, remedy: "write a DrainPolicy" }];
  const problems: Problem[] = [];
  if (object["apiVersion"] !== apiVersion || object["kind"] !== "DrainPolicy")
    problems.push({
      field: "apiVersion",
      message: `${briefly(object["apiVersion"])}, kind ${briefly(object["kind"])} is no DrainPolicy that this version knows`,
      remedy: `write apiVersion: ${apiVersion} and kind: DrainPolicy`,
    });
  const name = isMap(object["metadata"]) ? object["metadata"]["name"] : undefined;
  if (name !== policyName)
    problems.push({
      field: "metadata.name",
      message: `${briefly(name)} is read by nobody`,
      remedy: `call it ${policyName}: a namespace has one DrainPolicy`,
    });
  return [...problems, ...specProblems(object["spec"])];
}

function specProblems(spec: unknown): Problem[] {
  if (spec === undefined) return [];
  if (!isMap(spec))
    return [
      { field: "spec", message: `must hold fields, not ${briefly(spec)}`, remedy: "write fields below spec" },
    ];
  const known = settingNames.filter((name) => settingFields[name].inPolicy);
  const names: readonly string[] = [...known, "acknowledgements"];
  const strangers = Object.keys(spec).filter((key) => !names.includes(key));
  const values: Partial<Record<SettingName, unknown>> = {};
  const wrong = known.flatMap((name) => {
    if (spec[name] === undefined || spec[name] === null) return [];
    const read = readValue(settingFields[name], spec[name]);
    if ("value" in read) values[name] = read.value;
    return "value" in read ? [] : [{ field: `spec.${name}`, ...read }];
  });
  return [
    ...wrong,
    ...acknowledgementProblems(spec["acknowledgements"]),
    ...contradictions(values as Partial<InjectionSettings>, (name) => `spec.${name}`),
    ...unknownNames("field", "spec.", strangers, names),
  ];
}

/** What is wrong with the annotations of a workload's pods: those of Lameduck; others are not looked at. */
export function validateAnnotations(annotations: unknown): Problem[] {
  if (annotations === undefined || annotations === null) return [];
  if (!isMap(annotations))
    return [
      {
        field: "metadata.annotations",
        message: `must hold texts, not ${briefly(annotations)}`,
        remedy: 'write key: "value"',
      },
    ];
  const values: Partial<Record<SettingName, unknown>> = {};
  const wrong = settingNames.flatMap((name): Problem[] => {
    const key = annotationOf(name);
    if (settingFields[name].annotation === undefined || !Object.hasOwn(annotations, key)) return [];
    const read = readAnnotation(settingFields[name], annotations[key]);
    if ("value" in read) values[name] = read.value;
    return "value" in read ? [] : [{ field: key, ...read }];
  });
  return [
    ...wrong,
    ...contradictions(values as Partial<InjectionSettings>, annotationOf),
    ...unknownAnnotations(annotations),
  ];
}

function unknownAnnotations(annotations: Readonly<Record<string, unknown>>): Problem[] {
  const known = annotationNames();
  return unknownNames("annotation", annotationPrefix, strangersIn(annotations, known), known).map(
    (problem) => ({
      ...problem,
      mayBeNewer: nearest(problem.field.slice(annotationPrefix.length), known) === undefined,
    }),
  );
}

/** One by one: a hostile object has a hundred thousand of them, and the first few are told of. */
function* strangersIn(
  annotations: Readonly<Record<string, unknown>>,
  known: readonly string[],
): Generator<string> {
  for (const key of Object.keys(annotations)) {
    if (!key.startsWith(annotationPrefix)) continue;
    const own = key.slice(annotationPrefix.length);
    if (!known.includes(own) && !isKnownElsewhere(own)) yield own;
  }
}

function annotationNames(): string[] {
  return settingNames.flatMap((name) => settingFields[name].annotation ?? []);
}

const ofOthers: readonly string[] = [
  holdLabel,
  heldMark,
  probeAnnotation,
  injectedAnnotation,
  formerSleepAnnotation,
];

/** The audit's, what the injection itself writes, those of held deletions, and the question of a probe. */
function isKnownElsewhere(name: string): boolean {
  return (
    Object.hasOwn(factNames, name) ||
    name.startsWith("ignore-") ||
    name === "undo" ||
    ofOthers.includes(annotationPrefix + name)
  );
}

/** Values that cannot hold together. */
function contradictions(
  values: Partial<InjectionSettings>,
  fieldOf: (name: SettingName) => string,
): Problem[] {
  const problems: Problem[] = [];
  for (const [lesser, greater] of ascending) {
    const [a, b] = [values[lesser], values[greater]];
    if (a !== undefined && b !== undefined && a > b)
      problems.push({
        field: fieldOf(lesser),
        message: `${a} s is more than the ${b} s of ${fieldOf(greater)}`,
        remedy: `lower it to ${b} at most, or raise ${fieldOf(greater)}`,
      });
  }
  if (
    (values.initVolume === "image-volume" || values.initVolume === "init-container") &&
    values.initImage === undefined &&
    fieldOf("initVolume").startsWith("spec.")
  )
    problems.push({
      field: fieldOf("initImage"),
      message: `is missing: init volume ${values.initVolume} takes lameduck-init from an image`,
      remedy: "name the image of Lameduck, with its tag",
    });
  return problems;
}

/** What is said of settings on a workload itself, which reach no pod. @param own annotations of the workload. @param template those of its pods. */
export function misplacedSettings(own: unknown, template: unknown): string[] {
  if (!isMap(own)) return [];
  return settingNames
    .filter((name) => settingFields[name].annotation !== undefined)
    .map(annotationOf)
    .filter((key) => key in own && !(isMap(template) && key in template))
    .map((key) => `${key} is read from spec.template.metadata.annotations only: move it there`);
}
