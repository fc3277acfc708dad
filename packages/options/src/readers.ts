import type { Field, Flag, Option, PolicyKind } from "./option.ts";
import { options, releaseOptions, type OptionName } from "./table.ts";

type Table = typeof options;

/** Options whose row has certain columns. */
type NamesWith<Columns> = { [Name in OptionName]: Table[Name] extends Columns ? Name : never }[OptionName];

/** Options of the decision. */
export type DecisionName = NamesWith<{ readonly decides: true }>;
/** Options of the decision that are numbers and are checked by themselves: all but the bounds of the hold. */
export type NumberName = Exclude<
  NamesWith<{
    readonly decides: true;
    readonly kind: "duration" | "number" | "whole number";
  }>,
  NamesWith<{ readonly bound: true }>
>;
type OfSomePolicies = NamesWith<{ readonly policies: readonly PolicyKind[] }>;

/** Numbers of the decision that every policy uses. */
export type PlainName = Exclude<NumberName, OfSomePolicies>;

/** Numbers that only a certain policy uses. */
export type NameOf<Kind extends PolicyKind> = {
  [Name in OfSomePolicies & NumberName]: Kind extends Table[Name]["policies"][number] ? Name : never;
}[OfSomePolicies & NumberName];

/** Options of @lameduck/node in code. */
export type LibraryName = Exclude<
  NamesWith<{ readonly library: object }>,
  NamesWith<{ readonly library: { readonly partOf: string } }>
>;

type DefaultName = NamesWith<{ readonly default: unknown }>;
/** The defaults of options of the decision; durations are milliseconds. */
export type DecisionDefaults = { readonly [Name in DecisionName & DefaultName]: Table[Name]["default"] };

/** The table, for those who go through all of it. */
export const rows: Readonly<Record<OptionName, Option>> = options;
const names = Object.keys(options) as OptionName[];

export const decisionNames = names.filter((name) => rows[name].decides) as DecisionName[];

export const numberNames = decisionNames.filter((name) => {
  const { kind, bound } = rows[name];
  return !bound && (kind === "duration" || kind === "number" || kind === "whole number");
}) as NumberName[];

export const plainNames = numberNames.filter((name) => !rows[name].policies) as PlainName[];

export function namesOf<Kind extends PolicyKind>(kind: Kind): NameOf<Kind>[] {
  return numberNames.filter((name) => rows[name].policies?.includes(kind)) as string[] as NameOf<Kind>[];
}

/** In the order of the table. */
export const libraryNames = names.filter(
  (name) => rows[name].library && rows[name].library.partOf === undefined,
) as LibraryName[];

interface LibraryVariable {
  readonly variable: string;
  readonly name: OptionName;
  /** The option in code to which the variable belongs. */
  readonly of: string;
  readonly injected: boolean;
}

/** Each variable that @lameduck/node reads. */
export const libraryVariables: readonly LibraryVariable[] = names.flatMap((name) => {
  const { variable, library, injected = false } = rows[name];
  return variable && library ? [{ variable, name, of: library.partOf ?? name, injected }] : [];
});

export interface InitFlag extends Flag {
  readonly name: OptionName;
  readonly variable: string | undefined;
  /** How a flag is read: without a value; with one value; without a value by a function; with several values by a function. */
  readonly form: "switch" | "text" | "act" | "list";
}

/** Flags of lameduck-init, each with its variable. A variable that is called otherwise has a flag of its own name. */
export const initFlags: readonly InitFlag[] = names.flatMap((name) => {
  const { init, variable } = rows[name];
  if (!init) return [];
  const form = formOf(rows[name]);
  const own = { ...init, name, form, variable: init.onlyFlag ? undefined : variableOf(init.flag) };
  return variable === undefined || variable === own.variable
    ? [own]
    : [own, { ...init, name, form, flag: flagOf(variable), variable, shownAs: "" }];
});

function formOf({ kind, init }: Option): InitFlag["form"] {
  if (kind === "switch") return "switch";
  if (init?.reads === undefined) return "text";
  return init.value === undefined && kind !== "duration" ? "act" : "list";
}

/** The variable of an option that lameduck-init alone reads. */
export function initVariableOf(name: NamesWith<{ readonly init: object }>): string {
  return variableOf(rows[name].init?.flag ?? "");
}

function variableOf(flag: string): string {
  return `LAMEDUCK_${flag.toUpperCase().replaceAll("-", "_")}`;
}

function flagOf(variable: string): string {
  return variable.slice("LAMEDUCK_".length).toLowerCase().replaceAll("_", "-");
}

export interface FieldRow extends Field {
  readonly text: string;
  /** Seconds, where it is a duration. Options of the decision have none here: an injection lets them follow from the pod. */
  readonly default: Option["default"];
  readonly row: Option;
}

function fieldsIn(table: Readonly<Record<string, Option>>): FieldRow[] {
  return Object.values(table).flatMap((row) => {
    const { field, kind, decides, default: value } = row;
    if (!field) return [];
    const inSeconds = kind === "duration" && typeof value === "number" ? value / 1_000 : value;
    return [{ ...field, text: field.text ?? row.text, default: decides ? undefined : inSeconds, row }];
  });
}

const { inject, ...others } = rows;
/** Fields of a DrainPolicy's `spec`, and annotations of workloads: first whether there is an injection at all. */
export const fields: readonly FieldRow[] = fieldsIn({ inject, ...others });
/** Fields of its `spec.acknowledgements`. */
export const releaseFields: readonly FieldRow[] = fieldsIn(releaseOptions);

type Value<Row> = Row extends { readonly kind: "duration" }
  ? number
  : Row extends { readonly kind: "switch" }
    ? boolean
    : Row extends { readonly kind: "choice"; readonly choices: readonly (infer Choice)[] }
      ? Choice
      : string;

/** Fields by name, with their values: whole seconds, as in Kubernetes; `undefined` where nobody asked for anything and there is no default. */
type Values<Rows> = {
  readonly [
    Name in keyof Rows as Rows[Name] extends { readonly field: { readonly name: infer Field } }
      ? Field & string
      : never
  ]:
    | Value<Rows[Name]>
    | (Rows[Name] extends { readonly decides: true }
        ? undefined
        : Rows[Name] extends { readonly default: unknown }
          ? never
          : undefined);
};

export type FieldValues = Values<Table>;
export type ReleaseValues = Values<typeof releaseOptions>;

/** An option of the decision that an injection hands on as it is: by this flag to lameduck-init, by this variable to @lameduck/node. */
export interface HandedOn {
  readonly field: keyof FieldValues;
  readonly option: OptionName;
  readonly flag: string;
  readonly variable: string;
}

/** Durations, all of them: nothing in a hold takes longer than the hold. */
export const handedOn: readonly HandedOn[] = decisionNames.flatMap((option) => {
  const { field, init, variable } = rows[option];
  if (!field?.handedOn || !init || variable === undefined) return [];
  return [{ field: field.name as keyof FieldValues, option, flag: `--${init.flag}`, variable }];
});

/** The variables by which users tell a pod about its decision: of no use to a container without Lameduck. */
export const decisionVariables: readonly string[] = decisionNames.flatMap(
  (name) => rows[name].variable ?? [],
);
