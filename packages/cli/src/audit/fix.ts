import type { FixPlan } from "@lameduck/audit";
import { writeFileSync } from "node:fs";
import { attempt } from "../output.ts";

/** What the fixes change, as `patch` and `git apply` read it. */
export async function diffOf({ files }: Pick<FixPlan, "files">): Promise<string> {
  const { createPatch } = await import("diff");
  return files
    .map(({ before, after }) =>
      createPatch(before.name, before.text, after.text)
        .replace(/^=+\n/m, "")
        .replace(/^Index: .*\n/, ""),
    )
    .join("");
}

/** Writes the fixed files; what came from stdin goes to stdout. @throws {CliError} LAMEDUCK_CANNOT_WRITE */
export function writeFixes({ files }: Pick<FixPlan, "files">): void {
  for (const { after } of files)
    if (after.name === "stdin") process.stdout.write(after.text);
    else attempt(after.name, () => writeFileSync(after.name, after.text));
}
