import { fileURLToPath } from "node:url";
import { drainOptions, lameduckOptions } from "./declarations.ts";
import { fieldTable, libraryTable, pageWith, releaseTable } from "./pages.ts";
import { decisionHeader, flagTable } from "./c.ts";

/** Of the repository, with a slash at its end. */
export const root = fileURLToPath(new URL("../../../", import.meta.url));

/** What follows from the table: each file, below the root, and its text. */
export async function generated(): Promise<readonly (readonly [path: string, text: string])[]> {
  return [
    ["packages/init/src/decision/options.h", decisionHeader()],
    ["packages/init/src/cli/options.c", flagTable()],
    ["packages/drain/src/options.ts", drainOptions()],
    ["packages/node/src/options/lameduck-options.ts", lameduckOptions()],
    [
      "docs/reference/library.md",
      await pageWith(`${root}docs/reference/library.md`, "option", libraryTable()),
    ],
    [
      "docs/operate/acknowledgements.md",
      await pageWith(`${root}docs/operate/acknowledgements.md`, "field", releaseTable()),
    ],
    [
      "docs/operate/inject.md",
      await pageWith(`${root}docs/operate/inject.md`, "field of a DrainPolicy", fieldTable()),
    ],
  ];
}
