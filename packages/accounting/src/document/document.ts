import { messageOf } from "@lameduck/drain/common";
import { z } from "zod";
import { resultsSchema, resultsVersion, type Results } from "../model/results.ts";
import { ResultsError } from "./errors.ts";

export function buildResults({
  startedAt,
  ...parts
}: Omit<Results, "schema" | "startedAt"> & { readonly startedAt: Date }): Results {
  return { schema: resultsVersion, ...parts, startedAt: startedAt.toISOString() };
}

/** The document's JSON Schema (draft 2020-12), as it stands in docs/results.schema.json. */
export function resultsJsonSchema(): object {
  return {
    title: "Results of Lameduck",
    description: "What docs/results.md explains. Times and durations are milliseconds.",
    ...z.toJSONSchema(resultsSchema, { io: "input" }),
  };
}

/**
 * Reads a results document back.
 * @param source its name for messages, such as the file's path.
 * @throws {ResultsError} LAMEDUCK_RESULTS_NOT_JSON, LAMEDUCK_RESULTS_VERSION or LAMEDUCK_RESULTS_INVALID.
 */
export function parseResults(text: string, source: string): Results {
  const value = parseJson(text, source);
  const version = typeof value === "object" && value !== null && "schema" in value ? value.schema : undefined;
  if (version === undefined)
    throw new ResultsError("LAMEDUCK_RESULTS_INVALID", source, `no field "schema": not a results document`);
  if (version !== resultsVersion)
    throw new ResultsError(
      "LAMEDUCK_RESULTS_VERSION",
      source,
      `schema is ${JSON.stringify(version)}, this release reads "${resultsVersion}"`,
    );
  const { success, error } = resultsSchema.safeParse(value);
  const first = error?.issues[0];
  if (!success && first)
    throw new ResultsError("LAMEDUCK_RESULTS_INVALID", `${source}: ${place(first.path)}`, first.message);
  // The value itself and not the parsed copy, which would lack the fields of a later release.
  return value as Results;
}

/** The document as text, with a newline at its end. */
export function serialiseResults(results: Results): string {
  return `${JSON.stringify(results, undefined, 1)}\n`;
}

function parseJson(text: string, source: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ResultsError("LAMEDUCK_RESULTS_NOT_JSON", source, messageOf(error));
  }
}

/** remedies[0].each[2].hold */
function place(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, key) =>
      typeof key === "number" ? `${text}[${key}]` : text === "" ? String(key) : `${text}.${String(key)}`,
    "",
  );
}
