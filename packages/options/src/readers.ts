import type { Field, Flag, Option, PolicyKind } from "./option.ts";
import { options, releaseOptions, type OptionName } from "./table.ts";

type Table = typeof options;

/** Options whose row has certain columns. */
type NamesWith<Columns> = { [Name in OptionName]: Table[Name] extends Columns ? Name : never }[OptionName];

/** Options of the decision. */
export type DecisionName = NamesWith<{ readonly decides: true }>;
/** Those that are numbers, and stand for themselves: all but the bounds of the hold. */
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

/** Options that @lameduck/node reads from a variable. */
export type VariableName = NamesWith<{ readonly variable: string }>;

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

export interface LibraryVariable {
  readonly variable: string;
  readonly name: OptionName;
  /** The option in code to which it belongs. */
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
  /** How it is read: no value; one value; no value, and something is done; several values. */
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

function variableOf(flag: string): string {
  return `LAMEDUCK_${flag.toUpperCase().replaceAll("-", "_")}`;
}

function flagOf(variable: string): string {
  return variable.slice("LAMEDUCK_".length).toLowerCase().replaceAll("_", "-");
}

export interface FieldRow extends Field {
  readonly text: string;
  /** Options of the decision have a default for whoever reads them; an injection lets it follow from the pod. */
  readonly hasDefault: boolean;
  readonly row: Option;
}

function fieldsIn(table: Readonly<Record<string, Option>>): FieldRow[] {
  return Object.values(table).flatMap((row) => {
    if (!row.field) return [];
    const hasDefault = row.default !== undefined && row.decides === undefined;
    return [{ ...row.field, text: row.field.text ?? row.text, hasDefault, row }];
  });
}

const { inject, ...others } = rows;
/** Fields of a DrainPolicy's `spec`, and annotations of workloads: first whether there is an injection at all. */
export const fields: readonly FieldRow[] = fieldsIn({ inject, ...others });
/** Fields of its `spec.acknowledgements`. */
export const releaseFields: readonly FieldRow[] = fieldsIn(releaseOptions);
