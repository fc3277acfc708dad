import { z } from "zod";
import { resultsSchema } from "./schema.ts";

/** The document's JSON Schema (draft 2020-12), as it stands in docs/results.schema.json. */
export function resultsJsonSchema(): object {
  return {
    title: "Results of Lameduck",
    description: "What docs/results.md explains. Times and durations are milliseconds.",
    ...z.toJSONSchema(resultsSchema, { io: "input" }),
  };
}
