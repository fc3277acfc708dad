import { messageOf } from "@lameduck/drain/common";
import {
  isAlias,
  isCollection,
  isMap,
  isNode,
  isPair,
  LineCounter,
  parseAllDocuments,
  visit,
  type Alias,
  type Document,
  type Node,
} from "yaml";
import { ManifestError } from "./errors.ts";
import { Field } from "./field.ts";
import { mayRunPods, runsPods } from "./runs-pods.ts";
import { placeOf, type Source, type Span } from "./source.ts";
import { isYtt, markIn } from "./templates.ts";

/** The objects of a file. A document that cannot be read costs that document only. */
export interface Stream {
  readonly objects: readonly Field[];
  readonly failures: readonly ManifestError[];
  /** The number of objects of unwanted kinds, by kind. */
  readonly skipped: ReadonlyMap<string, number>;
  /** The number of those objects that run pods, by kind. */
  readonly unread: ReadonlyMap<string, number>;
}

/** Against files made to exhaust memory. The API server's own limit is lower. */
const mostExpandedNodes = 1_000_000;
/** Each alias costs a search through its document. */
const mostAliases = 1_000;
const deepestList = 8;
const withoutKind = "without a kind";

/**
 * The objects of any YAML or JSON text: documents, items of Lists, JSON objects in a row.
 * @param wanted the kinds to read.
 * @param mayBeOther the file was found in a folder: a document without a kind is other YAML, such as values of a chart, and no mistake.
 */
export function readStream(
  text: string,
  file: string,
  wanted: (kind: string) => boolean,
  mayBeOther = false,
): Stream {
  const lines = linesOf(text);
  const objects: Field[] = [];
  const failures: ManifestError[] = [];
  const [skipped, unread] = [new Map<string, number>(), new Map<string, number>()];
  const skip = (kind: string, isUnread = false): void => {
    const among = isUnread ? unread : skipped;
    among.set(kind, (among.get(kind) ?? 0) + 1);
  };
  const take = (object: Field, depth: number): void => {
    if (!object.exists) return;
    if (isKustomization(file) && object.mapping && !object.at("kind").exists) return skip("Kustomization");
    if (mayBeOther && !isObject(object)) return skip(withoutKind);
    const kind = object.at("kind").text() ?? object.at("kind").mustText();
    if (wanted(kind)) objects.push(object);
    else if (kind.endsWith("List") && object.at("items").exists && depth < deepestList)
      for (const item of object.at("items").items()) attempt(() => take(item, depth + 1));
    else skip(kind, runsPods(object));
  };
  const attempt = (act: () => void): void => {
    try {
      act();
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error;
      failures.push(error);
    }
  };
  for (const [start, end] of chunksOf(text)) {
    const source: Source = { file, lines, base: start, warnings: [] };
    const chunk = text.slice(start, end);
    const kind = kindOf(chunk);
    if (kind !== undefined && !wanted(kind) && !kind.endsWith("List")) {
      skip(kind, mayRunPods(chunk) && orFalse(() => parse(chunk, source).some(runsPods)));
    } else if (
      mayBeOther &&
      !isKustomization(file) &&
      chunk.trim() !== "" &&
      !/\b(?:kind|spec)["']?\s*:/.test(chunk)
    )
      skip(withoutKind);
    else
      attempt(() => {
        for (const field of parse(chunk, source)) attempt(() => take(field, 0));
      });
  }
  return { objects, failures, skipped, unread };
}

/** A mistake in an object of an unwanted kind is not reported. */
function orFalse(ask: () => boolean): boolean {
  try {
    return ask();
  } catch (error) {
    if (error instanceof ManifestError) return false;
    throw error;
  }
}

/** kustomize knows its file by its name: `kind` may be left out. */
function isKustomization(file: string): boolean {
  return /(?:^|[/\\])kustomization(?:\.ya?ml)?$/i.test(file);
}

function isObject(document: Field): boolean {
  return document.mapping !== undefined && (document.at("kind").exists || document.at("spec").exists);
}

function linesOf(text: string): LineCounter {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines.addNewLine(at + 1);
  return lines;
}

/** Nothing that YAML allows inside a document begins a line with `---`, so that documents can be separated without parsing. */
function chunksOf(text: string): Span[] {
  const first = text.search(/[^\s\uFEFF]/);
  if (first !== -1 && text[first] === "{" && text.charCodeAt(first + 1) !== 0x7b) {
    const objects = jsonObjects(text);
    if (objects.length > 1) return objects;
  }
  const marks = [...text.matchAll(/^---(?=\s|$)/gm)].map(({ index }) => index);
  // A byte order mark belongs to no document.
  const starts = [text.startsWith("\uFEFF") ? 1 : 0, ...marks.map((at) => at + 3)];
  return starts.map((start, index) => [start, marks[index] ?? text.length]);
}

/** JSON objects in a row, with nothing but space between them. Empty where the text is something else. */
function jsonObjects(text: string): Span[] {
  const found: Span[] = [];
  let depth = 0;
  let start = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]]|[^\s"{}[\]]+/g)) {
    if (token === "{" || token === "[") {
      if (depth === 0) start = index;
      depth += 1;
    } else if (token === "}" || token === "]") {
      depth -= 1;
      if (depth === 0) found.push([start, index + 1]);
    } else if (depth === 0) return [];
  }
  return depth === 0 ? found : [];
}

/** The kind, found without parsing; undefined if parsing is needed. */
function kindOf(chunk: string): string | undefined {
  const [match, second] = chunk.matchAll(/^kind:[ \t]+(["']?)(\w+)\1[ \t]*(?:#.*)?\r?$/gm);
  return second === undefined ? match?.[2] : undefined;
}

/** @throws {ManifestError} LAMEDUCK_MANIFEST_NOT_YAML, LAMEDUCK_MANIFEST_TEMPLATE, LAMEDUCK_MANIFEST_ALIASES */
function parse(chunk: string, source: Source): Field[] {
  const fail = (
    code: "NOT_YAML" | "TEMPLATE" | "ALIASES",
    offset: number,
    problem: string,
    remedy?: string,
  ): never => {
    const place = placeOf(source, source.base + offset);
    throw new ManifestError(`LAMEDUCK_MANIFEST_${code}`, place, problem, { remedy });
  };
  const documents = parsed(chunk, (problem) => fail("NOT_YAML", 0, problem));
  const broken = documents.find(({ errors }) => errors.length > 0)?.errors[0];
  const template = templateIn(chunk, documents);
  if (template !== undefined && (broken || template.certain))
    return fail("TEMPLATE", template.offset, "is a template that was not rendered", template.remedy);
  if (broken) return fail("NOT_YAML", broken.pos[0], explained(broken.message));
  if (chunk.includes("*"))
    for (const document of documents) {
      const { count, unknown } = aliasesOf(document);
      if (unknown) return fail("NOT_YAML", unknown.range?.[0] ?? 0, `there is no anchor &${unknown.source}`);
      if (count > mostAliases)
        return fail("ALIASES", document.range[0], "it has more than a thousand aliases");
      if (expandedSize(document) > mostExpandedNodes)
        return fail("ALIASES", document.range[0], "its aliases stand for more than a million fields");
    }
  return documents.map(
    (one) =>
      new Field(source, one, one.contents, "", [one.range[0], Math.min(one.range[0] + 1, chunk.length)]),
  );
}

function parsed(chunk: string, fail: (problem: string) => never): Document.Parsed[] {
  try {
    return [...parseAllDocuments(chunk, { prettyErrors: false, logLevel: "silent" })] as Document.Parsed[];
  } catch (error) {
    return fail(explained(messageOf(error)));
  }
}

/** The parser's words for frequent mistakes, and what a person calls them. */
const explanations: readonly (readonly [RegExp, string])[] = [
  // The parser's stack overflows at thousands of nested brackets.
  [/call stack/, "it is nested too deep"],
  [/^Flow (?:sequence|map)/, "a [ or { is not closed, or a line within it is not indented"],
  [
    /^Implicit keys need to be on a single line/,
    "a key must end on its line: a quote or a bracket may be missing",
  ],
  [/^Implicit map keys need to be followed by/, "a colon and a value are missing after the key"],
  [
    /^Nested mappings are not allowed in compact/,
    "there are two colons on one line: put the value in quotes",
  ],
  [
    /^All (?:collection|mapping) items must start/,
    "entries of one list or mapping must start in the same column",
  ],
];

function explained(message: string): string {
  return explanations.find(([words]) => words.test(message))?.[1] ?? message;
}

/** `{{ .Values.x }}` reads as a mapping whose key is a mapping, which no manifest has, or breaks the syntax. In texts it is data. */
function templateIn(
  chunk: string,
  documents: readonly Document.Parsed[],
): { readonly offset: number; readonly remedy: string | undefined; readonly certain: boolean } | undefined {
  const mark = markIn(chunk);
  if (mark === undefined) return undefined;
  for (const document of documents) {
    let found: number | undefined;
    visit(document, {
      Pair(_, pair) {
        if (!isMap(pair.key)) return undefined;
        found = pair.key.range?.[0];
        return visit.BREAK;
      },
    });
    if (found !== undefined) return { ...mark, offset: Math.max(0, found - 1), certain: true };
  }
  return { ...mark, certain: isYtt(chunk) };
}

/** Resolves all aliases in one pass: each search for one alias is a search through the whole document. */
function aliasesOf(document: Document): { readonly count: number; readonly unknown: Alias | undefined } {
  const anchors = new Set<string>();
  let count = 0;
  let unknown: Alias | undefined;
  visit(document, {
    Node(_, node) {
      if (!isAlias(node)) {
        if (node.anchor !== undefined) anchors.add(node.anchor);
        return undefined;
      }
      count += 1;
      if (anchors.has(node.source)) return undefined;
      unknown = node;
      return visit.BREAK;
    },
  });
  return { count, unknown };
}

/** How many nodes the document would have if each alias were written out. */
function expandedSize(document: Document): number {
  const anchors = new Map<string, unknown>();
  const sizes = new Map<unknown, number>();
  const under = new Set<unknown>();
  const size = (node: unknown): number => {
    if (isPair(node)) return size(node.key) + size(node.value);
    if (isAlias(node)) {
      const target = anchors.get(node.source);
      // An alias inside of its own anchor never ends.
      return target === undefined ? 1 : under.has(target) ? Infinity : (sizes.get(target) ?? 1);
    }
    if (isNode(node) && node.anchor !== undefined) anchors.set(node.anchor, node);
    if (!isCollection(node)) return 1;
    under.add(node);
    const total = (node.items as Node[]).reduce((sum, item) => sum + size(item), 1);
    under.delete(node);
    sizes.set(node, total);
    return total;
  };
  return size(document.contents);
}
