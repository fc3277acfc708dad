/** A part of a word: text, a variable, or what only the shell can know. */
export type Piece =
  | { readonly kind: "text"; readonly text: string }
  | {
      readonly kind: "variable";
      readonly name: string;
      /** `${NAME:-otherwise}` */
      readonly otherwise?: readonly Piece[];
      /** Within quotes, so that its value stays one word. */
      readonly isQuoted: boolean;
    }
  | { readonly kind: "opaque"; readonly text: string };

export type Word = readonly Piece[];

export interface Simple {
  readonly kind: "simple";
  readonly assignments: readonly { readonly name: string; readonly value: Word }[];
  readonly words: readonly Word[];
  readonly isRedirected: boolean;
}

export type Command =
  | Simple
  | { readonly kind: "group"; readonly body: List; readonly isSubshell: boolean }
  | {
      readonly kind: "if";
      readonly tests: readonly List[];
      readonly bodies: readonly List[];
      readonly isTotal: boolean;
    }
  | { readonly kind: "case"; readonly bodies: readonly List[]; readonly isTotal: boolean }
  | {
      readonly kind: "loop";
      readonly test: List;
      readonly body: List;
      /** How often it runs, where a `for` says it and nothing breaks it off. */
      readonly times?: number | undefined;
    }
  | { readonly kind: "function"; readonly name: string; readonly body: Command }
  /** `[[ ... ]]` and `(( ... ))` */
  | { readonly kind: "test" };

export interface Pipeline {
  readonly commands: readonly Command[];
  /** Behind `!` or `time`. */
  readonly isPrefixed: boolean;
  /** What stands before it in its chain; undefined for the first. */
  readonly after: "&&" | "||" | undefined;
}

/** Pipelines that `&&` and `||` join. */
export interface Chain {
  readonly pipelines: readonly Pipeline[];
  readonly isBackground: boolean;
  /** A line break stands before it. */
  readonly startsLine: boolean;
}

export type List = readonly Chain[];

export interface Script {
  readonly list: List;
  /** False where the rest is no syntax that is known here: `list` is what stands before it. */
  readonly isWhole: boolean;
  /** What stands behind the last command: blanks, comments, line breaks. */
  readonly trailing: string;
}
