import { isMap, isPair, isScalar, isSeq, type Node } from "yaml";
import { endOfLine } from "./comments.ts";
import type { Field } from "./field.ts";
import type { Edit } from "./splice.ts";

/** Offsets in the file, from the beginning of a key or an item to the end of its value. */
interface Entry {
  readonly start: number;
  readonly end: number;
}

/**
 * Takes entries out of a mapping or a list, and lines that held nothing else. So what insertField and appendItems have added is removed
 * exactly. Some entry has to stay, unless `{ }` or `[ ]` may be left.
 * @param gone keys of a mapping, or numbers of items.
 * @returns undefined where an alias shares it, or where nothing may be left.
 */
export function removeEntries(
  text: string,
  parent: Field,
  gone: ReadonlySet<string> | ReadonlySet<number>,
): readonly Edit[] | undefined {
  const collection = parent.mapping ?? parent.sequence;
  if (!collection?.range || parent.isShared) return undefined;
  const { base, file } = parent.source;
  const isGone = (key: string | number): boolean => (gone as ReadonlySet<string | number>).has(key);
  const entries = entriesOf(parent).map((one) => ({ ...one, isGone: isGone(one.key) }));
  if (entries.some(({ start }) => Number.isNaN(start))) return undefined;
  const edit = (start: number, end: number): Edit => ({ file, span: [start, end], text: "" });
  const open = base + collection.range[0];
  const close = base + collection.range[1] - 1;
  if (entries.every((one) => one.isGone)) return collection.flow ? [edit(open + 1, close)] : undefined;
  return runsOf(entries).flatMap(({ from, to }) => {
    const span = { start: entries[from]?.start ?? 0, end: entries[to]?.end ?? 0 };
    if (collection.flow === true) {
      const before = entries[from - 1]?.end ?? open + 1;
      return ofFlow(text, span, before, to === entries.length - 1).map(([a, b]) => edit(a, b));
    }
    const [start, end] = ofBlock(
      text,
      span,
      entries[to + 1]?.start ?? span.end,
      parent.sequence !== undefined,
    );
    return [edit(start, end)];
  });
}

/** An empty value as it stands in the file, such as `[]` or nothing: what insertField and appendItems may fill. @returns undefined for any other. */
export function emptyValue(text: string, parent: Field, key: string): string | undefined {
  const { base } = parent.source;
  const pair = parent.mapping?.items.find((item) => isScalar(item.key) && item.key.value === key);
  if (!pair || !isEmpty(pair.value)) return undefined;
  const [start = 0, end = 0] = pair.value?.range ?? [];
  return text.slice(base + start, base + end).trimEnd();
}

/**
 * Takes away the value of a key that had none before insertField, in lines whose value stands in brackets.
 * @param was the empty value that is to stand there again, where it is known.
 */
export function removeValue(text: string, parent: Field, key: string, was = ""): Edit | undefined {
  const field = parent.at(key);
  const value = field.mapping ?? field.sequence;
  if (!value?.range || field.isShared) return undefined;
  if (was === "" && (parent.mapping?.flow === true || value.flow !== true)) return undefined;
  const { base, file } = field.source;
  const [start, end] = [base + value.range[0], base + value.range[1]];
  const from = was === "" ? text.slice(0, start).trimEnd().length : start;
  return { file, span: [from, start + text.slice(start, end).trimEnd().length], text: was };
}

function isEmpty(node: Node | null): boolean {
  if (isMap(node)) return node.items.every(({ value }) => isEmpty(value as Node | null));
  return isSeq(node) ? node.items.length === 0 : node === null || (isScalar(node) && node.value === null);
}

function entriesOf(parent: Field): (Entry & { readonly key: string | number })[] {
  const { base } = parent.source;
  const end = (field: Field): number => base + (field.contentEnd ?? field.valueSpan?.[1] ?? Number.NaN);
  if (parent.sequence)
    return parent.items().map((item, index) => {
      const node = parent.sequence?.items[index];
      return { key: index, start: base + (startOf(node) ?? Number.NaN), end: end(item) };
    });
  return (parent.mapping?.items ?? []).map((pair) => {
    const key = String((pair.key as { value?: unknown }).value);
    const range = pair.value?.range;
    const field = parent.at(key);
    const own = field.exists ? end(field) : base + (range?.[1] ?? pair.key.range?.[1] ?? Number.NaN);
    return { key, start: base + (pair.key.range?.[0] ?? Number.NaN), end: own };
  });
}

function startOf(node: Node | undefined): number | undefined {
  return isPair(node) ? undefined : node?.range?.[0];
}

function runsOf(
  entries: readonly { readonly isGone: boolean }[],
): { readonly from: number; readonly to: number }[] {
  const runs: { from: number; to: number }[] = [];
  for (const [index, { isGone }] of entries.entries()) {
    const last = runs.at(-1);
    if (isGone && last?.to === index - 1) last.to = index;
    else if (isGone) runs.push({ from: index, to: index });
  }
  return runs;
}

/** Whole lines. Of the first field behind the dash of an item, what stands until the next field. */
function ofBlock(
  text: string,
  { start, end }: Entry,
  next: number,
  isList: boolean,
): readonly [number, number] {
  const lineStart = text.lastIndexOf("\n", start - 1) + 1;
  if (!isList && text.slice(lineStart, start).trim() !== "") return [start, next];
  const lineEnd = text[end - 1] === "\n" ? end - 1 : endOfLine(text, end);
  const lineBreak = /^\r?\n/.exec(text.slice(lineEnd))?.[0];
  if (lineBreak !== undefined) return [lineStart, lineEnd + lineBreak.length];
  // The file ends without a line break, as it did before.
  const before = /\r?\n$/.exec(text.slice(Math.max(0, lineStart - 2), lineStart))?.[0].length ?? 0;
  return [lineStart - before, lineEnd];
}

function ofFlow(
  text: string,
  { start, end }: Entry,
  before: number,
  isLast: boolean,
): (readonly [number, number])[] {
  if (!isLast) {
    const comma = text.indexOf(",", end);
    const from = text[before] === "," ? before + 1 : before;
    return [[from, comma + 1]];
  }
  const comma = text.lastIndexOf(",", start);
  const between = text.slice(comma + 1, start);
  // The comment of the item before stands between: it stays where it is.
  if (between.includes("#")) {
    const line = comma + 1 + between.trimEnd().length;
    return [
      [comma, comma + 1],
      [line, end],
    ];
  }
  return [[comma, end]];
}
