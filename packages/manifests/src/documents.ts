import { LineCounter, parseAllDocuments, stringify } from "yaml";
import { ManifestError } from "./errors.ts";
import { Field } from "./field.ts";
import { placeOf, type Source } from "./source.ts";

/**
 * The objects of a manifest file: its documents, and the items of a List.
 * @throws ManifestError LAMEDUCK_MANIFEST_NOT_YAML, LAMEDUCK_MANIFEST_EMPTY
 */
export function readDocuments(
  text: string,
  file: string,
): { readonly objects: Field[]; readonly source: Source } {
  const source: Source = { file, lines: new LineCounter(), base: 0, warnings: [] };
  // `uniqueKeys` is left on: the API server refuses a field given twice, too.
  const documents = [...parseAllDocuments(text, { lineCounter: source.lines, prettyErrors: false })];
  for (const { errors } of documents) {
    const [error] = errors;
    if (error)
      throw new ManifestError("LAMEDUCK_MANIFEST_NOT_YAML", placeOf(source, error.pos[0]), error.message);
  }
  const objects = documents
    .map(
      (document) =>
        new Field(source, document, document.contents, "", [document.range[0], document.range[0] + 1]),
    )
    .filter(({ exists }) => exists)
    .flatMap((field) => (isList(field) ? field.at("items").items() : [field]));
  if (objects.length === 0)
    throw new ManifestError("LAMEDUCK_MANIFEST_EMPTY", file, "there is nothing in it");
  return { objects, source };
}

/** A text without any structure is a document, too; at() refuses it with its place. */
function isList(field: Field): boolean {
  return field.at("kind").text() === "List";
}

/**
 * An object as YAML for kubectl and Helm. They read YAML 1.1, in which a bare yes, no, on or off is a boolean: such texts are quoted.
 */
export function manifestYaml(value: unknown): string {
  return stringify(value, { version: "1.1", lineWidth: 0, aliasDuplicateObjects: false });
}
