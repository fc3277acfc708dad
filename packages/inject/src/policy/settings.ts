import { fields, type FieldRow, type FieldValues } from "@lameduck/options";

/**
 * What holds for one pod, once defaults, the cluster's DrainPolicy, the namespace's DrainPolicy and the workload's annotations are
 * merged. Times are whole seconds, as in Kubernetes; `undefined` where nobody asked for anything.
 */
export type InjectionSettings = FieldValues;

export type InitVolume = InjectionSettings["initVolume"];
export type Architecture = NonNullable<InjectionSettings["architecture"]>;

export const defaultSettings = defaultsOf(fields) as unknown as InjectionSettings;

export function defaultsOf(rows: readonly FieldRow[]): Record<string, FieldRow["default"]> {
  return Object.fromEntries(rows.map(({ name, default: value }) => [name, value]));
}
