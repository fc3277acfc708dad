import { isAlias, isMap, isScalar, isSeq, type Document, type Node } from "yaml";
import { ManifestError, type ManifestErrorCode } from "./errors.ts";
import { placeOf, type Source } from "./source.ts";

/** A field of a manifest, there or not, that knows its path and its place. Types are as strict as the API server's. */
export class Field {
  readonly path: string;
  readonly #source: Source;
  readonly #document: Document;
  readonly #node: Node | undefined;
  /** Where to point when the field is missing: at what should contain it. */
  readonly #offset: number;

  constructor(
    source: Source,
    document: Document,
    node: Node | null | undefined,
    path: string,
    offset: number,
  ) {
    const resolved = isAlias(node) ? node.resolve(document) : node;
    this.#source = source;
    this.#document = document;
    // `field:` without a value is a missing field to the API server.
    this.#node = resolved && !(isScalar(resolved) && resolved.value === null) ? resolved : undefined;
    this.path = path;
    this.#offset = node?.range?.[0] ?? offset;
  }

  get exists(): boolean {
    return this.#node !== undefined;
  }

  get place(): string {
    return placeOf(this.#source, this.#offset);
  }

  fail(code: ManifestErrorCode, problem: string, remedy?: string): never {
    throw new ManifestError(code, this.place, `${this.path || "document"}: ${problem}`, remedy);
  }

  /** Something that is asked for and will not be done. */
  warn(problem: string): void {
    this.#source.warnings.push(`${this.place}: ${this.path}: ${problem}`);
  }

  at(key: string): Field {
    const path = this.path ? `${this.path}.${key}` : key;
    if (!this.#node) return new Field(this.#source, this.#document, undefined, path, this.#offset);
    const pair = this.#pairs().find((candidate) => candidate.key === key);
    return new Field(this.#source, this.#document, pair?.value, path, pair?.offset ?? this.#offset);
  }

  entries(): (readonly [string, Field])[] {
    if (!this.#node) return [];
    return this.#pairs().map(({ key, value, offset }) => [
      key,
      new Field(this.#source, this.#document, value, this.path ? `${this.path}.${key}` : key, offset),
    ]);
  }

  items(): Field[] {
    if (!this.#node) return [];
    if (!isSeq(this.#node)) this.fail("LAMEDUCK_MANIFEST_INVALID", "must be a list");
    return this.#node.items.map(
      (item, index) =>
        new Field(this.#source, this.#document, item as Node, `${this.path}[${index}]`, this.#offset),
    );
  }

  /** undefined when it is not there. */
  text(): string | undefined {
    const value = this.#scalar();
    if (value === undefined || typeof value === "string") return value;
    return this.fail(
      "LAMEDUCK_MANIFEST_INVALID",
      `must be a text, not ${typeof value}`,
      `put it in quotes: "${String(value)}"`,
    );
  }

  mustText(): string {
    return this.text() ?? this.fail("LAMEDUCK_MANIFEST_INVALID", "is missing");
  }

  whole(least: number, otherwise: number): number {
    const value = this.#scalar() ?? otherwise;
    if (typeof value === "number" && Number.isInteger(value) && value >= least) return value;
    return this.fail(
      "LAMEDUCK_MANIFEST_INVALID",
      `must be a whole number of at least ${least}, not ${String(value)}`,
    );
  }

  /** A number or a text: a port by number or name, a count or a share. */
  numberOrText(): number | string | undefined {
    const value = this.#scalar();
    if (value === undefined || typeof value === "number" || typeof value === "string") return value;
    return this.fail("LAMEDUCK_MANIFEST_INVALID", "must be a number or a text");
  }

  oneOf<Choice extends string>(choices: readonly Choice[], otherwise: Choice): Choice {
    const value = this.text() ?? otherwise;
    const found = choices.find((choice) => choice === value);
    return found ?? this.fail("LAMEDUCK_MANIFEST_INVALID", `${value} is none of ${choices.join(", ")}`);
  }

  texts(): string[] {
    return this.items().map((item) => item.mustText());
  }

  textMap(): Record<string, string> {
    return Object.fromEntries(this.entries().map(([key, value]) => [key, value.mustText()]));
  }

  /** Says which fields are left out because nobody here knows them. */
  onlyKnows(used: readonly string[], meaninglessHere: readonly string[] = []): void {
    for (const [key, field] of this.entries())
      if (!used.includes(key) && !meaninglessHere.includes(key)) field.warn("is left out");
  }

  #scalar(): string | number | boolean | undefined {
    if (!this.#node) return undefined;
    if (isScalar(this.#node)) return this.#node.value as string | number | boolean;
    return this.fail("LAMEDUCK_MANIFEST_INVALID", "must be a single value");
  }

  #pairs(): { key: string; value: Node | null; offset: number }[] {
    if (!isMap(this.#node)) return this.fail("LAMEDUCK_MANIFEST_INVALID", "must be a mapping of fields");
    return this.#node.items.map((pair) => ({
      key: String(isScalar(pair.key) ? pair.key.value : pair.key),
      value: pair.value as Node | null,
      offset: (pair.key as Node).range?.[0] ?? this.#offset,
    }));
  }
}
