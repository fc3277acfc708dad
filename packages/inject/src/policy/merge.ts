import { annotationOf, settingFields, settingNames, type SettingName } from "./fields.ts";
import { readAnnotation, readValue, type ReadSetting } from "./read.ts";
import { defaultSettings, type InjectionSettings } from "./settings.ts";
import { apiVersion, isMap } from "@lameduck/protocol";

/** Where settings come from: the first in this list that says something wins. */
const sources = ["annotation", "namespace", "cluster", "default"] as const;
export type SettingSource = (typeof sources)[number];

export interface SettingSources {
  /** Annotations of the pod, or of the pod template. */
  readonly podAnnotations?: unknown;
  /** The DrainPolicy `default` of the pod's namespace, and that of Lameduck's own namespace. */
  readonly namespacePolicy?: unknown;
  readonly clusterPolicy?: unknown;
  /** Fields of a spec that win over those of the cluster's policy, as flags of a command. */
  readonly asked?: Readonly<Record<string, unknown>> | undefined;
}

export interface MergedSettings {
  readonly settings: InjectionSettings;
  readonly origins: Readonly<Record<SettingName, SettingSource>>;
  /** What was said wrongly and is left out: the next source counts. */
  readonly warnings: readonly string[];
}

/** Never fails: what cannot be read is left out, with a warning. */
export function settingsFor({
  podAnnotations,
  namespacePolicy,
  clusterPolicy,
  asked = {},
}: SettingSources): MergedSettings {
  const warnings: string[] = [];
  const origins = {} as Record<SettingName, SettingSource>;
  const values = {} as Record<SettingName, unknown>;
  const policies = [
    ["namespace", specOf(namespacePolicy, "namespace", warnings)],
    ["cluster", asked],
    ["cluster", specOf(clusterPolicy, "cluster", warnings)],
  ] as const;
  for (const name of settingNames) {
    const field = settingFields[name];
    const take = (source: SettingSource, place: string, read: ReadSetting): boolean => {
      if (!("value" in read)) {
        warnings.push(`${place}: ${read.message}; it is left out; ${read.remedy}`);
        return false;
      }
      values[name] = read.value;
      origins[name] = source;
      return true;
    };
    const key = field.annotation === undefined ? undefined : annotationOf(name);
    const text = key !== undefined && isMap(podAnnotations) ? podAnnotations[key] : undefined;
    if (
      key !== undefined &&
      text !== undefined &&
      take("annotation", `annotation ${key}`, readAnnotation(field, text))
    )
      continue;
    const isTaken = policies.some(([source, spec]) => {
      const value = field.inPolicy ? spec[name] : undefined;
      if (value === undefined || value === null) return false;
      return take(source, `DrainPolicy of the ${source}, spec.${name}`, readValue(field, value));
    });
    if (!isTaken) {
      values[name] = defaultSettings[name];
      origins[name] = "default";
    }
  }
  limitGracePeriod(specOf(clusterPolicy, "cluster", []), values, origins, warnings);
  return { settings: resolveConflicts(values as unknown as InjectionSettings, warnings), origins, warnings };
}

/** A namespace may ask for less than the cluster's policy allows, never for more: long grace periods slow drains of nodes for all. */
function limitGracePeriod(
  cluster: Readonly<Record<string, unknown>>,
  values: Record<SettingName, unknown>,
  origins: Record<SettingName, SettingSource>,
  warnings: string[],
): void {
  const read = readValue(settingFields.maxGracePeriodSeconds, cluster["maxGracePeriodSeconds"]);
  if (!("value" in read) || Number(values.maxGracePeriodSeconds) <= Number(read.value)) return;
  if (origins.maxGracePeriodSeconds === "namespace")
    warnings.push(
      `DrainPolicy of the namespace, spec.maxGracePeriodSeconds: the cluster's policy allows ${String(read.value)} s at most; that counts`,
    );
  values.maxGracePeriodSeconds = read.value;
  origins.maxGracePeriodSeconds = "cluster";
}

function specOf(policy: unknown, of: string, warnings: string[]): Readonly<Record<string, unknown>> {
  if (policy === undefined || policy === null) return {};
  if (isMap(policy) && policy["apiVersion"] === apiVersion) {
    const spec = policy["spec"] ?? {};
    if (isMap(spec)) return spec;
  }
  warnings.push(
    `DrainPolicy of the ${of}: cannot be read; it is left out; its apiVersion must be ${apiVersion}`,
  );
  return {};
}

/** Sources that know nothing of each other may contradict each other: the greater bound counts. */
function resolveConflicts(settings: InjectionSettings, warnings: string[]): InjectionSettings {
  const { floorSeconds, capSeconds, gracePeriodSeconds, maxGracePeriodSeconds, initVolume, initImage } =
    settings;
  const changes: { -readonly [Name in SettingName]?: InjectionSettings[Name] } = {};
  // The floor stays as it is: an annotation may raise the cap of a policy that is rendered from these.
  if (floorSeconds !== undefined && capSeconds !== undefined && floorSeconds > capSeconds)
    warnings.push(`the floor of ${floorSeconds} s is more than the cap of ${capSeconds} s; the cap counts`);
  if (gracePeriodSeconds !== undefined && gracePeriodSeconds > maxGracePeriodSeconds) {
    warnings.push(
      `the grace period of ${gracePeriodSeconds} s is more than the greatest allowed, ${maxGracePeriodSeconds} s; that counts`,
    );
    changes.gracePeriodSeconds = maxGracePeriodSeconds;
  }
  if ((initVolume === "image-volume" || initVolume === "init-container") && initImage === undefined) {
    warnings.push(
      `init volume ${initVolume} needs initImage in a DrainPolicy; the kubelet's sleep is used instead`,
    );
    changes.initVolume = "none";
  }
  return { ...settings, ...changes };
}
