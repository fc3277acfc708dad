import { isScalar, type Pair, type Node } from "yaml";
import { endOfLine, endWithComments, startWithComments } from "./comments.ts";
import type { Field } from "./field.ts";
import type { Span } from "./source.ts";

/** Text that takes the place of a span of the file. Everything else is left unchanged, byte for byte. */
export interface Edit {
  readonly file: string;
  readonly span: Span;
  readonly text: string;
}

/** A value to write: a scalar as it is to stand in the file, or a list or a mapping of scalars. */
export type Written = string | readonly Written[] | { readonly [key: string]: Written };

/** @returns undefined where the field is no scalar that stands at its own place. */
export function replaceScalar(field: Field, text: string): Edit | undefined {
  if (!field.isScalar) return undefined;
  return { file: field.source.file, span: field.span, text };
}

/**
 * Adds a field to a mapping: in a block below its first field, in `{ }` before the others. A key that is there without a value gets it.
 * @param text of the file.
 * @returns undefined where there is no mapping, or it is shared by an alias.
 */
export function insertField(text: string, parent: Field, key: string, value: Written): Edit | undefined {
  const { base, file } = parent.source;
  const known = parent.mapping?.items.find((item) => isScalar(item.key) && item.key.value === key);
  if (!known || parent.isShared) return insertFields(text, parent, { [key]: value });
  return fillEmpty(text, known, flow(value, quoteOf(text, base)), base, (offset, inserted, end = offset) => ({
    file,
    span: [base + offset, base + end],
    text: inserted,
  }));
}

/** Adds fields that are not there yet, as insertField does. */
export function insertFields(
  text: string,
  parent: Field,
  fields: { readonly [key: string]: Written },
): Edit | undefined {
  const map = parent.mapping;
  const { base, file } = parent.source;
  if (!map?.range || parent.isShared) return undefined;
  const at = (offset: number, inserted: string): Edit => ({
    file,
    span: [base + offset, base + offset],
    text: inserted,
  });
  const [first] = map.items;
  // A new field would take its anchor or tag over.
  if (first && (first.key.anchor ?? first.key.tag) !== undefined) return undefined;
  if (map.flow) {
    const quote = quoteOf(text, base);
    const written = flow(fields, quote).slice(2, -2);
    return at(map.range[0] + 1, first ? ` ${written},` : ` ${written} `);
  }
  const start = first?.key?.range?.[0];
  if (start === undefined) return undefined;
  const lineStart = text.lastIndexOf("\n", base + start - 1) + 1;
  const indent = " ".repeat(base + start - lineStart);
  const lineBreak = newline(text, base + start);
  const lines = block(fields).join(lineBreak + indent);
  const end = first?.value?.range?.[1];
  // A value that ends on its own line is followed; before anything larger the new field comes first.
  const lineEnd = text.indexOf("\n", base + start);
  const isOneLine =
    end !== undefined && lineEnd !== -1 && base + end <= lineEnd && first?.value?.range?.[0] !== end;
  // The field goes before the end of the line: an item that is appended to a list ending there comes after it.
  if (isOneLine) {
    const below = endWithComments(text, endOfLine(text, base + end), indent.length + 1);
    return at(below - base, `${lineBreak}${indent}${lines}`);
  }
  const isFirst = text.slice(lineStart, base + start).trim() === "";
  const above = isFirst ? startWithComments(text, lineStart, indent.length) : lineStart;
  // The comments above the first field belong to it.
  if (above < lineStart) return at(above - base, `${indent}${lines}${lineBreak}`);
  return at(start, `${lines}${lineBreak}${indent}`);
}

/** Writes the value of a key that has none, or null. */
function fillEmpty(
  text: string,
  { key, value }: Pair<Node, Node | null>,
  written: string,
  base: number,
  at: (offset: number, inserted: string, end?: number) => Edit,
): Edit | undefined {
  const range = value?.range;
  if (!isScalar(value) || value.value !== null || (value.anchor ?? value.tag) !== undefined || !range)
    return undefined;
  if (range[1] > range[0]) return at(range[0], written, range[1]);
  const [, keyEnd = 0] = key.range ?? [];
  const colon = /^[ \t]*:/.exec(text.slice(base + keyEnd, base + keyEnd + 100));
  return colon ? at(keyEnd + colon[0].length, ` ${written}`) : undefined;
}

/**
 * Adds items to the end of a list.
 * @param text of the file.
 * @returns undefined where there is no list, or it is shared by an alias.
 */
export function appendItems(text: string, list: Field, values: readonly Written[]): Edit | undefined {
  const sequence = list.sequence;
  const { base, file } = list.source;
  if (!sequence?.range || list.isShared) return undefined;
  const last = list.items().at(-1);
  const end = base + (last?.contentEnd ?? sequence.range[0] + 1);
  if (sequence.flow) {
    const written = values.map((one) => flow(one, quoteOf(text, base))).join(", ");
    const [remark, comment = ""] = /^[ \t]*,?([ \t]+#[^\r\n]*)\r?\n[ \t]*/.exec(text.slice(end)) ?? [];
    if (last && remark !== undefined) {
      // The comment is about the last item: what is new stands below it.
      const [lineBreak = ""] = /\r?\n[ \t]*$/.exec(remark) ?? [];
      return {
        file,
        span: [end, end + remark.length],
        text: `,${comment}${lineBreak}${written}${lineBreak}`,
      };
    }
    return { file, span: [end, end], text: last ? `, ${written}` : written };
  }
  const start = base + sequence.range[0];
  const indent = text.slice(text.lastIndexOf("\n", start - 1) + 1, start);
  // A list that does not begin on a line of its own, such as `- - a`, has no indent to copy.
  if (last === undefined || indent.trim() !== "") return undefined;
  const lines = block(values).map((line) => indent + line);
  const lineBreak = newline(text, start);
  const written = lines.join(lineBreak);
  const lineEnd = text[end - 1] === "\n" ? end - (text[end - 2] === "\r" ? 2 : 1) : endOfLine(text, end);
  const at = endWithComments(text, lineEnd, indent.length);
  // The last line break of a text in several lines is a part of it.
  if (at === lineEnd && lineEnd < end) return { file, span: [end, end], text: `${written}${lineBreak}` };
  return { file, span: [at, at], text: `${lineBreak}${written}` };
}

/** A text as a scalar that YAML and JSON read as that text. */
export function scalar(value: string | number | boolean): string {
  if (typeof value !== "string") return String(value);
  const isPlain =
    /^[A-Za-z/-][\w./=-]*$/.test(value) &&
    !/^(?:-|---.*|[yYnN]|true|false|yes|no|on|off|null|-?\.(?:inf|nan)|-[\d.].*)$/i.test(value);
  return isPlain ? value : JSON.stringify(value);
}

/** Replaces a field by another field with its value. @returns undefined where an alias shares it, or comments in it would go. */
export function replaceField(text: string, field: Field, key: string, value: Written): Edit | undefined {
  const was = fieldText(text, field);
  return was === undefined || /(?:^|\s)#/.test(was)
    ? undefined
    : exchangeField(text, field, { [key]: value });
}

/**
 * Puts another field in the place of one, with all that stands in it.
 * @param by the field, or its text as fieldText gave it.
 * @returns undefined where an alias shares it.
 */
export function exchangeField(
  text: string,
  field: Field,
  by: string | { readonly [key: string]: Written },
): Edit | undefined {
  const { keySpan, source } = field;
  const was = fieldText(text, field);
  if (keySpan === undefined || was === undefined) return undefined;
  const start = source.base + keySpan[0];
  const quote = was.startsWith('"') ? '"' : "";
  return {
    file: source.file,
    span: [start, start + was.length],
    text: typeof by === "string" ? by : flow(by, quote).slice(2, -2),
  };
}

/** A field as it stands in the file, from its key to the end of its value. @returns undefined where an alias shares it. */
export function fieldText(
  text: string,
  { source, keySpan, contentEnd, isShared }: Field,
): string | undefined {
  if (keySpan === undefined || contentEnd === undefined || isShared) return undefined;
  return text.slice(source.base + keySpan[0], source.base + contentEnd).trimEnd();
}

/** @param edits in any order. @returns undefined where two of them overlap. */
export function applyEdits(text: string, edits: readonly Edit[]): string | undefined {
  const sorted = [...edits].sort((a, b) => a.span[0] - b.span[0] || a.span[1] - b.span[1]);
  let result = "";
  let done = 0;
  for (const { span, text: inserted } of sorted) {
    if (span[0] < done) return undefined;
    result += text.slice(done, span[0]) + inserted;
    done = span[1];
  }
  return result + text.slice(done);
}

/** The line break at this offset, or the one before it. */
function newline(text: string, at: number): string {
  const next = text.indexOf("\n", at);
  const end = next === -1 ? text.lastIndexOf("\n", at) : next;
  return text[end - 1] === "\r" ? "\r\n" : "\n";
}

/** The quote around keys and texts where JSON wants one; empty otherwise. */
function quoteOf(text: string, base: number): string {
  return /^\s*[{[]/.test(text.slice(base, base + 1_000)) ? '"' : "";
}

/** @param quote the quote around keys: JSON's, or an empty text. */
function flow(value: Written, quote: string): string {
  if (typeof value === "string") return quote === "" || isJson(value) ? value : JSON.stringify(value);
  if (isList(value)) return `[${value.map((one) => flow(one, quote)).join(", ")}]`;
  const fields = Object.entries(value).map(([key, one]) => {
    const plain = scalar(key);
    return `${plain.startsWith('"') ? plain : quote + plain + quote}: ${flow(one, quote)}`;
  });
  return `{ ${fields.join(", ")} }`;
}

/** A scalar that stands in JSON as it does in YAML. */
function isJson(text: string): boolean {
  return /^(?:-?\d+(?:\.\d+)?|true|false|null|".*")$/s.test(text);
}

/** Lines without indent; a list of scalars stands on one line, as commands do. */
function block(value: Written): string[] {
  if (typeof value === "string") return [value];
  if (isList(value))
    return value.flatMap((one) => block(one).map((line, index) => `${index === 0 ? "- " : "  "}${line}`));
  return Object.entries(value).flatMap(([key, one]) => {
    const isOneLine =
      typeof one === "string" ||
      Object.keys(one).length === 0 ||
      (isList(one) && one.every((each) => typeof each === "string"));
    return isOneLine
      ? [`${scalar(key)}: ${flow(one, "")}`]
      : [`${scalar(key)}:`, ...block(one).map((line) => `  ${line}`)];
  });
}

function isList(value: Written): value is readonly Written[] {
  return Array.isArray(value);
}
