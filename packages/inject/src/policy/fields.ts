import { fields, type FieldRow } from "@lameduck/options";
import type { InjectionSettings } from "./settings.ts";

export type SettingName = keyof InjectionSettings;

interface Common {
  /** After `lameduck.dev/`; undefined: workloads have no say in it. */
  readonly annotation: string | undefined;
  /** Whether a DrainPolicy has the field. */
  readonly inPolicy: boolean;
  readonly does: string;
}

/** What a setting may be. Policies write seconds as a number, annotations with their unit. */
export type SettingField = Common &
  (
    | { readonly kind: "seconds"; readonly least: number; readonly most: number }
    | { readonly kind: "choice"; readonly choices: readonly string[] }
    | { readonly kind: "text"; readonly pattern: RegExp; readonly longest: number; readonly example: string }
    | { readonly kind: "switch" }
  );

/** Rows of the table of options, as they are checked here. */
export function settingFieldsOf<Name extends string>(
  rows: readonly FieldRow[],
): Readonly<Record<Name, SettingField>> {
  return Object.fromEntries(rows.map((row) => [row.name, settingField(row)])) as Record<Name, SettingField>;
}

function settingField({ annotation, onlyAnnotation, text, row, ...field }: FieldRow): SettingField {
  const common = { annotation, inPolicy: !onlyAnnotation, does: text };
  const { least = 0, most = Infinity, pattern = /./, longest = Infinity, example = "" } = field;
  switch (row.kind) {
    case "duration":
      return { ...common, kind: "seconds", least, most };
    case "choice":
      return { ...common, kind: "choice", choices: row.choices ?? [] };
    case "switch":
      return { ...common, kind: "switch" };
    default:
      return { ...common, kind: "text", pattern, longest, example };
  }
}

export const settingFields = settingFieldsOf<SettingName>(fields);

export const settingNames = Object.keys(settingFields) as SettingName[];

/** Times of which the former must not be more than the latter. */
export const ascending = [
  ["floorSeconds", "capSeconds"],
  ["capSeconds", "gracePeriodSeconds"],
  ["gracePeriodSeconds", "maxGracePeriodSeconds"],
] as const satisfies readonly (readonly SettingName[])[];

export const annotationPrefix = "lameduck.dev/";

export function annotationOf(name: SettingName): string {
  return annotationPrefix + (settingFields[name].annotation ?? "");
}
