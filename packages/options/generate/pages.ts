import { readFileSync } from "node:fs";
import { formatPage, markdownTable } from "../../../scripts/format-page.ts";
import { fields, libraryNames, releaseFields, rows, type FieldRow, type LibraryName } from "../src/index.ts";
import { defaultOf, textOf } from "./words.ts";

/** Characters in a cell: what is longer belongs below the table. */
const longestCell = 120;

/** Options of @lameduck/node, for docs/reference/library.md. */
export function libraryTable(): string {
  return markdownTable(
    ["option", "variable", "default", ""],
    libraryNames.filter((name) => !rows[name].library?.hidden).map(libraryRow),
  );
}

function libraryRow(name: LibraryName): string[] {
  const row = rows[name];
  const { shape } = row.library ?? {};
  const policy = (one: string): string => `for \`${one}\``;
  const text = `${shape === undefined ? "" : `\`${shape}\`: `}${textOf(row, undefined, policy).replaceAll("\n", " ")}`;
  const all = row.more === undefined ? text : `${text}. ${row.more.replace(/\.$/, "")}`;
  const value = row.byDefault || code(defaultOf({ ...row, byDefault: undefined }));
  return [code(name), code(row.variable), value, all.length <= longestCell ? all : text];
}

/** Fields of a DrainPolicy and annotations, for docs/operate/inject.md. */
export function fieldTable(): string {
  return markdownTable(
    ["field of a DrainPolicy", "annotation", "default", "what it is"],
    fields.map(fieldRow),
  );
}

function fieldRow({ name, annotation, onlyAnnotation, text, default: value }: FieldRow): string[] {
  return [
    onlyAnnotation ? "" : code(name),
    code(annotation && `lameduck.dev/${annotation}`),
    code(value === undefined ? undefined : String(value)),
    text,
  ];
}

/** Fields of `spec.acknowledgements`, for docs/operate/acknowledgements.md. */
export function releaseTable(): string {
  const lines = releaseFields.map(({ name, default: value, text, example, least, most, row }) => [
    code(name),
    code(value === undefined ? undefined : String(value)),
    row.choices?.map(code).join(", ") ?? (most === undefined ? (example ?? "") : `${least} to ${most}`),
    text,
  ]);
  return markdownTable(["field", "default", "values", "what it is"], lines);
}

const code = (text: string | undefined): string => (text === undefined || text === "" ? "" : `\`${text}\``);

/** A page of which one table is generated: the one with this first cell. */
export async function pageWith(path: string, firstCell: string, written: string): Promise<string> {
  const before = readFileSync(path, "utf8");
  const found = new RegExp(`^\\| ${firstCell} .*\\n(?:\\|.*\\n)+`, "m");
  if (!found.test(before)) throw new Error(`${path} has no table that begins with "${firstCell}"`);
  return formatPage(before.replace(found, () => written));
}
