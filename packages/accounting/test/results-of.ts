import type { Results } from "../src/index.ts";
import { resultsSchema } from "../src/model/results.ts";

/** A results document, held against its schema. */
export function resultsOf(text: string): Results {
  const value: unknown = JSON.parse(text);
  resultsSchema.parse(value);
  // The value itself and not the parsed copy, which lacks fields that the schema does not name.
  return value as Results;
}
