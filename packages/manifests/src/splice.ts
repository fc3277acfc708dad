import { isScalar } from "yaml";
import type { Field } from "./field.ts";
import type { Span } from "./source.ts";

/** Text that takes the place of a span of the file. Everything else stays as it is, byte for byte. */
export interface Edit {
  readonly file: string;
  readonly span: Span;
  readonly text: string;
}

/** A value to write: a scalar as it is to stand in the file, or a mapping of them. */
export type Written = string | { readonly [key: string]: Written };

/** @returns undefined where the field is no single value that stands at its own place. */
export function replaceScalar(field: Field, text: string): Edit | undefined {
  if (!field.isScalar) return undefined;
  return { file: field.source.file, span: field.span, text };
}

/**
 * Adds a field to a mapping: in a block below its first field, in `{ }` before the others.
 * @param text of the file.
 * @returns undefined where there is no mapping, or it is shared by an alias.
 */
export function insertField(text: string, parent: Field, key: string, value: Written): Edit | undefined {
  const map = parent.mapping;
  const { base, file } = parent.source;
  if (!map?.range || parent.isShared) return undefined;
  const at = (offset: number, inserted: string): Edit => ({
    file,
    span: [base + offset, base + offset],
    text: inserted,
  });
  // A key without a value would stand there twice.
  if (map.items.some((item) => isScalar(item.key) && item.key.value === key)) return undefined;
  const [first] = map.items;
  if (map.flow) {
    const quote = /^\s*[{[]/.test(text.slice(base, base + 1_000)) ? '"' : "";
    const written = flow({ [key]: value }, quote).slice(2, -2);
    return at(map.range[0] + 1, first ? ` ${written},` : ` ${written} `);
  }
  const start = first?.key?.range?.[0];
  if (start === undefined) return undefined;
  const lineStart = text.lastIndexOf("\n", base + start - 1) + 1;
  const indent = " ".repeat(base + start - lineStart);
  const lines = block(key, value, indent, newline(text));
  const end = first?.value?.range?.[1];
  // A value that ends on its own line is followed; before anything larger the new field comes first.
  const lineEnd = text.indexOf("\n", base + start);
  const isOneLine =
    end !== undefined && lineEnd !== -1 && base + end <= lineEnd && first?.value?.range?.[0] !== end;
  if (isOneLine) return at(lineEnd + 1 - base, `${indent}${lines}${newline(text)}`);
  return at(start, `${lines}${newline(text)}${indent}`);
}

/** Puts another field in the place of one that is there, with its value. @returns undefined where an alias shares it. */
export function replaceField(text: string, field: Field, key: string, value: Written): Edit | undefined {
  const { base, file } = field.source;
  const { keySpan, contentEnd } = field;
  if (keySpan === undefined || contentEnd === undefined || field.isShared) return undefined;
  const start = base + keySpan[0];
  const end = base + keySpan[0] + text.slice(start, base + contentEnd).trimEnd().length;
  // Comments in it would go.
  if (/(?:^|\s)#/.test(text.slice(start, end))) return undefined;
  const quote = text[start] === '"' ? '"' : "";
  return { file, span: [start, end], text: flow({ [key]: value }, quote).slice(2, -2) };
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

function newline(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

/** @param quote around keys: JSON's, or none. */
function flow(value: Written, quote: string): string {
  if (typeof value === "string") return value;
  const fields = Object.entries(value).map(([key, one]) => `${quote}${key}${quote}: ${flow(one, quote)}`);
  return `{ ${fields.join(", ")} }`;
}

function block(key: string, value: Written, indent: string, end: string): string {
  if (typeof value === "string") return `${key}: ${value}`;
  const inner = `${indent}  `;
  return [
    `${key}:`,
    ...Object.entries(value).map(([name, one]) => inner + block(name, one, inner, end)),
  ].join(end);
}
