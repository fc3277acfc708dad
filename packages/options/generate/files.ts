import { fileURLToPath } from "node:url";
import { decisionHeader, flagTable } from "./c.ts";

/** Of the repository, with a slash at its end. */
export const root = fileURLToPath(new URL("../../../", import.meta.url));

/** What follows from the table: each file, below the root, and its text. */
export async function generated(): Promise<readonly (readonly [path: string, text: string])[]> {
  return [
    ["packages/init/src/decision/options.h", decisionHeader()],
    ["packages/init/src/cli/options.c", flagTable()],
  ];
}
