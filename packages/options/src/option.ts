/** The policies of the decision, in the order in which messages name them. */
export const policyKinds = ["fixed", "until-deadline", "quiet", "adaptive", "acknowledged"] as const;
export type PolicyKind = (typeof policyKinds)[number];

/** What a value may be. Durations are milliseconds here; users write them with a unit. */
export type Kind =
  | "duration"
  /** A number above 0. */
  | "number"
  | "whole number"
  | "switch"
  | "choice"
  /** Of a file or directory, absolute. */
  | "path"
  | "text"
  /** Several values, or a value of a form of its own: whoever reads it has a function for it. */
  | "own";

/** One option: what it is, and who reads it by which name. */
export interface Option {
  readonly kind: Kind;
  /**
   * What it means, in a line. `name` in it is another option, spelt as its reader spells it. A second line is one of the help of lameduck-init.
   */
  readonly text: string;
  /** Further sentences, for the pages and for editors. */
  readonly more?: string;
  readonly default?: number | string | boolean;
  /** The default in words, where it is no constant or is read by people otherwise; empty where the text says it already. */
  readonly byDefault?: string | undefined;
  readonly choices?: readonly string[];
  /** Bounds of whole numbers. */
  readonly least?: number;
  readonly most?: number;
  /** A duration that must not be zero. */
  readonly aboveZero?: true;

  /** An option of the decision: read by packages/drain and by its twin in C, by this name in code and by the flag's. */
  readonly decides?: true;
  /** Bounds of the hold: they are checked against each other. */
  readonly bound?: true;
  /** The policies that use it; undefined: all. */
  readonly policies?: readonly PolicyKind[];

  /** The variable by which @lameduck/node reads it. lameduck-init reads it as well where it has a flag. */
  readonly variable?: `LAMEDUCK_${string}`;
  /** Set by platforms: a mistake in the variable keeps no pod from starting. */
  readonly injected?: true;
  /** An option of @lameduck/node in code. */
  readonly library?: Library;
  readonly init?: Flag;
  readonly field?: Field;
}

/** How @lameduck/node takes an option in code. */
export interface Library {
  /** The TypeScript type, where it does not follow from the kind. */
  readonly type?: string;
  /** The members of an object, as pages show them. */
  readonly shape?: string;
  /** The name of the option to which a variable belongs that is no option by itself. */
  readonly partOf?: string;
  /** For experiments: on no page. */
  readonly hidden?: true;
}

/** A flag of lameduck-init. Its variable is LAMEDUCK_ and the flag, in capitals; a `variable` of another name is read as well. */
export interface Flag {
  readonly flag: string;
  readonly letter?: string;
  /** Those other programs that know the letter, too. */
  readonly letterOf?: readonly ("tini" | "dumb-init")[];
  /** Stands for the value in the help. */
  readonly value?: string;
  /** Where settings.h keeps it: the member's name. Options of the decision have a place of their own. */
  readonly keeps?: string;
  /** The function in flag_readers.c that reads it. With a value there may be several, and the variable lists them. */
  readonly reads?: string;
  /** Asking for it asks for a hold, where lameduck-init is called as tini or dumb-init. */
  readonly holds?: true;
  /** It has no variable: it is for people. */
  readonly onlyFlag?: true;
  /** Where its line in the help begins otherwise; empty: another line names it. */
  readonly shownAs?: string;
  /** Replaces the text in the help, with its default. */
  readonly text?: string;
}

/** A field of a DrainPolicy, an annotation of workloads, or both. */
export interface Field {
  readonly name: string;
  /** After `lameduck.dev/`; undefined: workloads have no say in it. */
  readonly annotation?: string;
  /** Not a field of a DrainPolicy. */
  readonly onlyAnnotation?: true;
  /** Handed on to lameduck-init and @lameduck/node as it is. */
  readonly handedOn?: true;
  /** Replaces the text: an injection has defaults of its own. */
  readonly text?: string;
  /** Seconds. */
  readonly least?: number;
  readonly most?: number;
  readonly pattern?: RegExp;
  readonly longest?: number;
  readonly example?: string;
}
