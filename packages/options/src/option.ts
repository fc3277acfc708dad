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
  /** An absolute path of a file or directory. */
  | "path"
  | "text"
  /** Several values, or a value of a form of its own. The reader of the option has a function for it. */
  | "own";

/** One option: what it is, and who reads it by which name. */
export interface Option {
  readonly kind: Kind;
  /**
   * What the option means, in a line. A `name` in it is another option, spelt as its reader spells it. A second line stands only in the
   * help of lameduck-init.
   */
  readonly text: string;
  /** Further sentences, for the pages and for editors. */
  readonly more?: string;
  readonly default?: number | string | boolean;
  /** The default in words, where it is no constant or where people read it otherwise. Empty where the text says it already. */
  readonly byDefault?: string | undefined;
  readonly choices?: readonly string[];
  /** Bounds of whole numbers. */
  readonly least?: number;
  readonly most?: number;
  /** A duration that must not be zero. */
  readonly aboveZero?: true;

  /** An option of the decision. packages/drain and its twin in C read it, by this name in code and by the flag's. */
  readonly decides?: true;
  /** One of the bounds of the hold, which are checked against each other. */
  readonly bound?: true;
  /** The policies that use it; undefined for all. */
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
interface Library {
  /** The TypeScript type, where it does not follow from the kind. */
  readonly type?: string;
  /** The members of an object, as pages show them. */
  readonly shape?: string;
  /** The option that this variable is a part of, where it is no option by itself. */
  readonly partOf?: string;
  /** For experiments: on no page. */
  readonly hidden?: true;
}

/** A flag of lameduck-init. Its variable is LAMEDUCK_ and the flag, in capitals; a `variable` of another name is read as well. */
export interface Flag {
  readonly flag: string;
  readonly letter?: string;
  /** The other programs that know the letter, too. */
  readonly letterOf?: readonly ("tini" | "dumb-init")[];
  /** Stands for the value in the help. */
  readonly value?: string;
  /** The member of settings.h that keeps it. Options of the decision have a place of their own. */
  readonly keeps?: string;
  /** The function in flag_readers.c that reads it. A flag with a value may be given several times, and its variable holds a list. */
  readonly reads?: string;
  /** The flag asks for a hold, where lameduck-init is called as tini or dumb-init. */
  readonly holds?: true;
  /** A flag without a variable, as it is for people. */
  readonly onlyFlag?: true;
  /** How its line in the help begins, where that differs. Empty: another line names it. */
  readonly shownAs?: string;
  /** Replaces the text in the help, with its default. */
  readonly text?: string;
}

/** A field of a DrainPolicy, an annotation of workloads, or both. */
export interface Field {
  readonly name: string;
  /** The annotation's name after `lameduck.dev/`. Undefined: workloads cannot set it. */
  readonly annotation?: string;
  /** There is an annotation, and no field of a DrainPolicy. */
  readonly onlyAnnotation?: true;
  /** An injection hands it on to lameduck-init and @lameduck/node as it is. */
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
