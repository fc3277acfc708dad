import type { Piece, Simple, Word } from "./syntax.ts";

/** Stands in a word for what nobody here can know; no argument of a program contains it. */
export const unknown = "\0";

/** The variables of a container, as far as they are known. */
export interface Variables {
  /** Their values; `unknown` of one that has a value from elsewhere. */
  readonly values: ReadonlyMap<string, string>;
  /** All variables of an object that was not given come in addition. */
  readonly isPartial: boolean;
}

export const noVariables: Variables = { values: new Map(), isPartial: false };

/** What a script's words mean while it runs. */
export interface Scope {
  readonly variables: Map<string, string>;
  readonly isPartial: boolean;
  /** `$0`, `$1` and so on. */
  readonly parameters: readonly string[];
}

export function scopeOf({ values, isPartial }: Variables, parameters: readonly string[] = []): Scope {
  return { variables: new Map(values), isPartial, parameters };
}

/** The words of a command as the program gets them. `unknown` stands for what depends on the container. */
export function argumentsOf({ words }: Simple, scope: Scope): string[] {
  return words.flatMap((word) => fieldsOf(word, scope));
}

/** Keeps what assignments without a command say. */
export function assign({ assignments, words }: Simple, scope: Scope): void {
  if (words.length === 0)
    for (const { name, value } of assignments)
      scope.variables.set(name, value.map((piece) => valueOf(piece, scope)).join(""));
}

/** Of a value that is not quoted, blanks make several words. */
function fieldsOf(word: Word, scope: Scope): string[] {
  const fields: string[] = [];
  let current: string | undefined;
  for (const piece of word) {
    if (piece.kind === "variable" && /^[@*]$/.test(piece.name)) {
      const [first, ...rest] = scope.parameters.slice(1);
      if (first === undefined) continue;
      const all = [`${current ?? ""}${first}`, ...rest];
      current = all.pop();
      fields.push(...all);
      continue;
    }
    const value = valueOf(piece, scope);
    if (piece.kind !== "variable" || piece.isQuoted) {
      current = `${current ?? ""}${value}`;
      continue;
    }
    const [first = "", ...rest] = value.split(/\s+/);
    current = current === undefined && first === "" ? undefined : `${current ?? ""}${first}`;
    for (const next of rest) {
      if (current !== undefined && current !== "") fields.push(current);
      current = next === "" ? undefined : next;
    }
  }
  return current === undefined ? fields : [...fields, current];
}

function valueOf(piece: Piece, scope: Scope): string {
  if (piece.kind === "text") return piece.text;
  if (piece.kind === "opaque")
    return /^\s*(?:which|command\s+-v|type\s+-p)\s+([\w./-]+)\s*$/.exec(piece.text)?.[1] ?? unknown;
  const { name, otherwise } = piece;
  const value = /^\d$/.test(name) ? scope.parameters[Number(name)] : scope.variables.get(name);
  if (value !== undefined && (value !== "" || otherwise === undefined)) return value;
  // What the image, a Secret or another ConfigMap sets is not seen here.
  if (scope.isPartial || (otherwise === undefined && !/^\d$/.test(name))) return unknown;
  return otherwise?.map((one) => valueOf(one, scope)).join("") ?? "";
}

/** Kubernetes' own `$(NAME)` and `$$`, in a word of a command or in the value of a variable. */
export function dereferenced(text: string, values: ReadonlyMap<string, string>): string {
  if (!text.includes("$")) return text;
  return text.replace(/\$(?:\$|\(([^()$]+)\))/g, (whole, name: string | undefined) =>
    name === undefined ? "$" : (values.get(name) ?? whole),
  );
}
