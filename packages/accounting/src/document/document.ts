import { z } from "zod";
import { resultsSchema, resultsVersion, type Results } from "../model/results.ts";

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

/** The document as text, with a newline at its end. */
export function serialiseResults(results: Results): string {
  return `${JSON.stringify(results, undefined, 1)}\n`;
}
