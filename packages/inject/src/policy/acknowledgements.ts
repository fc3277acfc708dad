import { releaseFields, type ReleaseValues } from "@lameduck/options";
import { settingFieldsOf } from "./fields.ts";
import { isMap } from "@lameduck/protocol";
import { readValue, type Problem, briefly, unknownNames } from "./read.ts";
import { defaultsOf } from "./settings.ts";

/** When a pod counts as released: `spec.acknowledgements` of a DrainPolicy. Times are whole seconds. */
export type AcknowledgementSettings = ReleaseValues;

export const defaultAcknowledgements = defaultsOf(releaseFields) as unknown as AcknowledgementSettings;

type Name = keyof AcknowledgementSettings;

export const acknowledgementFields = settingFieldsOf<Name>(releaseFields);

const acknowledgementNames = Object.keys(acknowledgementFields) as Name[];

/** What is wrong with `spec.acknowledgements`. */
export function acknowledgementProblems(value: unknown): Problem[] {
  const place = "spec.acknowledgements";
  if (value === undefined || value === null) return [];
  if (!isMap(value))
    return [
      {
        field: place,
        message: `must hold fields, not ${briefly(value)}`,
        remedy: `write fields below ${place}`,
      },
    ];
  const unknownKeys = Object.keys(value).filter((key) => !acknowledgementNames.includes(key as Name));
  const wrong = acknowledgementNames.flatMap((name) => {
    if (value[name] === undefined || value[name] === null) return [];
    const read = readValue(acknowledgementFields[name], value[name]);
    return "value" in read ? [] : [{ field: `${place}.${name}`, ...read }];
  });
  return [...wrong, ...unknownNames("field", `${place}.`, unknownKeys, acknowledgementNames)];
}

export interface AcknowledgementSources {
  /** The DrainPolicy `default` of the pod's namespace, and that of Lameduck's own namespace. */
  readonly namespacePolicy?: unknown;
  readonly clusterPolicy?: unknown;
}

/** The namespace's policy wins over the cluster's, field by field. Never fails: what cannot be read is left out. The policy's status tells of it. */
export function acknowledgementsFor({
  namespacePolicy,
  clusterPolicy,
}: AcknowledgementSources): AcknowledgementSettings {
  const values: Record<string, unknown> = { ...defaultAcknowledgements };
  for (const policy of [clusterPolicy, namespacePolicy]) {
    const stated = acknowledgementsIn(policy);
    for (const name of acknowledgementNames) {
      const value = stated[name];
      if (value === undefined || value === null) continue;
      const read = readValue(acknowledgementFields[name], value);
      if ("value" in read) values[name] = read.value;
    }
  }
  return values as unknown as AcknowledgementSettings;
}

/** What a field lists: "mesh/istio, ingress-class/alb". */
export function namesIn(list = ""): readonly string[] {
  return list.split(/, ?/).filter(Boolean);
}

/** Whether `sendsNothing` names the sender. "load-balancer/aws" stands for those of each Service, too. */
export function isSilenced(sendsNothing: ReadonlySet<string>, need: string): boolean {
  return sendsNothing.has(need) || sendsNothing.has(need.split("/", 2).join("/"));
}

function acknowledgementsIn(policy: unknown): Readonly<Record<string, unknown>> {
  const spec = isMap(policy) ? policy["spec"] : undefined;
  const stated = isMap(spec) ? spec["acknowledgements"] : undefined;
  return isMap(stated) ? stated : {};
}
