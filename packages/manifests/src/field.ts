import { messageOf } from "@lameduck/drain/common";
import {
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Document,
  type Node,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import { ManifestError, type ManifestErrorCode } from "./errors.ts";
import { placeOf, type Source, type Span } from "./source.ts";
import { howToRender } from "./templates.ts";

/** No manifest written by hand has more fields. */
const mostExpandedNodes = 1_000_000;

/** A field of a manifest, there or not, that knows its path and its place. Types are as strict as the API server's. */
export class Field {
  readonly path: string;
  readonly source: Source;
  readonly #document: Document;
  readonly #node: Node | undefined;
  /** Where an error points when the field is missing, or too large to be pointed at: its key, or the key of what should contain it. */
  readonly #anchor: Span;
  /** Whether an alias, a merge or an anchor led here. Then an edit may change other fields, too. */
  readonly isShared: boolean;
  /** What was found already: one question is asked of the same object for each object that relates to it. */
  #foundPairs: readonly Pair[] | undefined;
  #foundItems: readonly Field[] | undefined;
  #foundAt: Map<string, Field> | undefined;

  constructor(
    source: Source,
    document: Document,
    node: Node | null | undefined,
    path: string,
    anchor: Span,
    isShared = false,
  ) {
    const resolved = isAlias(node) ? node.resolve(document) : node;
    this.source = source;
    this.#document = document;
    // `field:` without a value is a missing field to the API server.
    this.#node = resolved && !(isScalar(resolved) && resolved.value === null) ? resolved : undefined;
    this.path = path;
    this.#anchor = anchor;
    this.isShared = isShared || isAlias(node) || (node as { anchor?: string } | null)?.anchor !== undefined;
  }

  get exists(): boolean {
    return this.#node !== undefined;
  }

  get place(): string {
    return placeOf(this.source, this.span[0]);
  }

  /** The part that an excerpt should mark: a value, or the key of something larger or missing. Offsets in the whole file. */
  get span(): Span {
    const { base } = this.source;
    const [start, end] = this.isScalar ? this.valueSpan! : this.#anchor;
    return [base + start, base + end];
  }

  /** Offsets of its key in its own document; undefined for an item of a list, and for a missing field. */
  get keySpan(): Span | undefined {
    return this.#node && !this.path.endsWith("]") ? this.#anchor : undefined;
  }

  get isScalar(): boolean {
    return isScalar(this.#node) && !this.isShared;
  }

  /** The mapping as it stands in the file, for an edit that adds to it; undefined for another kind of node. */
  get mapping(): YAMLMap<Node, Node | null> | undefined {
    return isMap(this.#node) ? (this.#node as YAMLMap<Node, Node | null>) : undefined;
  }

  get sequence(): YAMLSeq<Node> | undefined {
    return isSeq(this.#node) ? (this.#node as YAMLSeq<Node>) : undefined;
  }

  /** Offsets of the value in its own document. */
  get valueSpan(): Span | undefined {
    const range = this.#node?.range;
    return range ? [range[0], range[1]] : undefined;
  }

  /** Where the last value in it ends, before a comment that follows. An offset in its own document. */
  get contentEnd(): number | undefined {
    return this.#node && endOf(this.#node);
  }

  fail(code: ManifestErrorCode, problem: string, remedy?: string): never {
    // A template that was not rendered explains whatever is wrong with the value.
    const node = this.#node;
    // `[[ port ]]` is a list of a list.
    const isDoubled = isSeq(node) && isSeq(node.items[0]) && node.items[0].flow === true;
    const value = isScalar(node) ? String(node.value) : isDoubled ? "[[ ]]" : "";
    const how = code === "LAMEDUCK_MANIFEST_INVALID" ? howToRender(value) : undefined;
    if (how !== undefined)
      throw new ManifestError(
        "LAMEDUCK_MANIFEST_TEMPLATE",
        this.place,
        `${this.path}: ${value} is a template that was not rendered`,
        { remedy: how },
      );
    throw new ManifestError(code, this.place, `${this.path || "document"}: ${problem}`, { remedy });
  }

  invalid(problem: string, remedy?: string): never {
    return this.fail("LAMEDUCK_MANIFEST_INVALID", problem, remedy);
  }

  /** A field that is asked for and will not be done. */
  warn(problem: string): void {
    this.source.warnings.push(`${this.place}: ${this.path}: ${problem}`);
  }

  at(key: string): Field {
    const known = this.#foundAt?.get(key);
    if (known) return known;
    const path = this.path ? `${this.path}.${key}` : key;
    if (!this.#node) return this.#child(undefined, path, this.#anchor);
    const pair = this.#pairs().find((candidate) => candidate.key === key);
    const found = this.#child(pair?.value, path, pair?.span ?? this.#anchor, pair?.isShared);
    (this.#foundAt ??= new Map()).set(key, found);
    return found;
  }

  entries(): (readonly [string, Field])[] {
    if (!this.#node) return [];
    return this.#pairs().map(({ key, value, span, isShared }) => [
      key,
      this.#child(value, this.path ? `${this.path}.${key}` : key, span, isShared),
    ]);
  }

  items(): readonly Field[] {
    if (!this.#node) return [];
    if (!isSeq(this.#node)) this.invalid("must be a list");
    return (this.#foundItems ??= this.#node.items.map((item, index) => {
      const node = item as Node;
      const start = node.range?.[0] ?? this.#anchor[0];
      return this.#child(node, `${this.path}[${index}]`, [start, start + 1]);
    }));
  }

  /** Undefined for a missing field. */
  text(): string | undefined {
    const value = this.#scalar();
    if (value === undefined || typeof value === "string") return value;
    return this.invalid(`must be a text, not ${typeof value}`, `put it in quotes: "${String(value)}"`);
  }

  mustText(): string {
    return this.text() ?? this.invalid("is missing");
  }

  whole(least: number, otherwise: number): number {
    const value = this.#scalar() ?? otherwise;
    if (this.#spelt(/^0\d/))
      this.invalid("begins with 0, so that kubectl reads it as octal", "leave the leading 0 out");
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= least) return value;
    return this.invalid(
      typeof value === "string" && /^\d+$/.test(value)
        ? `must be a number, not the text "${value}"`
        : `must be a whole number of at least ${least}, not ${String(value)}`,
    );
  }

  /** The mode of a file, which kubectl reads as octal where it begins with 0. */
  mode(otherwise: number): number {
    const value = this.#scalar() ?? otherwise;
    const mode = this.#spelt(/^0[0-7]+$/) ? Number.parseInt(String(value), 8) : value;
    return typeof mode === "number" && mode >= 0 && mode <= 0o777
      ? mode
      : this.invalid("is no mode of a file");
  }

  /** kubectl reads YAML 1.1, in which `yes` and `on` without quotes are true as well. */
  isTrue(): boolean {
    return this.#scalar() === true || this.#spelt(/^(?:yes|on)$/i);
  }

  /** A number or a text: a port by number or name, a count or a share. */
  numberOrText(): number | string | undefined {
    const value = this.#scalar();
    if (value === undefined || typeof value === "number" || typeof value === "string") return value;
    return this.invalid("must be a number or a text");
  }

  oneOf<Choice extends string>(choices: readonly Choice[], otherwise: Choice): Choice {
    const value = this.text() ?? otherwise;
    const found = choices.find((choice) => choice === value);
    return found ?? this.invalid(`${value} is none of ${choices.join(", ")}`);
  }

  texts(): string[] {
    return this.items().map((item) => item.mustText());
  }

  textMap(): Record<string, string> {
    return Object.fromEntries(this.entries().map(([key, value]) => [key, value.mustText()]));
  }

  /** The whole value, without places. */
  plain(): unknown {
    try {
      return this.#node?.toJS(this.#document, { maxAliasCount: mostExpandedNodes });
    } catch (error) {
      return this.fail("LAMEDUCK_MANIFEST_ALIASES", messageOf(error));
    }
  }

  /** Reports which fields are left out because they are unknown here. */
  onlyKnows(used: readonly string[], meaninglessHere: readonly string[] = []): void {
    for (const [key, field] of this.entries())
      if (!used.includes(key) && !meaninglessHere.includes(key)) field.warn("is left out");
  }

  /** The text as it stands in the file, where that is without quotes. */
  #spelt(pattern: RegExp): boolean {
    const node = this.#node;
    return isScalar(node) && node.type === "PLAIN" && pattern.test(node.source ?? "");
  }

  #scalar(): string | number | boolean | undefined {
    if (!this.#node) return undefined;
    if (isScalar(this.#node)) return this.#node.value as string | number | boolean;
    return this.invalid("must be a single value");
  }

  #child(node: Node | null | undefined, path: string, anchor: Span, isShared = false): Field {
    return new Field(this.source, this.#document, node, path, anchor, isShared || this.isShared);
  }

  #pairs(): readonly Pair[] {
    if (!isMap(this.#node)) return this.invalid("must be a mapping of fields");
    return (this.#foundPairs ??= this.#pairsWithMerged(this.#node));
  }

  #pairsWithMerged(map: YAMLMap): Pair[] {
    const own = this.#pairsOf(map);
    const merged = own.filter(({ key }) => key === "<<").flatMap(({ value }) => this.#merged(value));
    if (merged.length === 0) return own;
    const named = own.filter(({ key }) => key !== "<<");
    return [...named, ...merged.filter(({ key }) => !named.some((one) => one.key === key))];
  }

  #pairsOf(map: YAMLMap): Pair[] {
    return map.items.map((pair) => {
      const range = (pair.key as Node | null)?.range;
      return {
        key: String(isScalar(pair.key) ? pair.key.value : pair.key),
        value: pair.value as Node | null,
        span: range ? [range[0], range[1]] : this.#anchor,
        isShared: false,
      };
    });
  }

  /** `<<: *base`, as kubectl reads it; of several mappings the first one counts. */
  #merged(value: Node | null): Pair[] {
    const node = isAlias(value) ? value.resolve(this.#document) : value;
    const maps = isSeq(node) ? (node.items as Node[]) : [node];
    return maps.flatMap((one) => {
      const map = isAlias(one) ? one.resolve(this.#document) : one;
      return isMap(map) ? this.#pairsOf(map).map((pair) => ({ ...pair, isShared: true })) : [];
    });
  }
}

/** A block collection's own range ends after the comments below it. */
function endOf(node: Node): number | undefined {
  if (!isCollection(node) || node.flow) return node.range?.[1];
  const last = node.items.at(-1);
  const value = isPair(last) ? ((last.value ?? last.key) as Node | null) : (last as Node | undefined);
  return value ? endOf(value) : node.range?.[1];
}

interface Pair {
  readonly key: string;
  readonly value: Node | null;
  readonly span: Span;
  readonly isShared: boolean;
}
