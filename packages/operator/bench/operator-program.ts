import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { operatorFile, operatorFiles } from "../image/built.ts";

/** Writes the operator's program as the image has it. @returns its path. */
export async function writeOperator(directory: string): Promise<string> {
  for (const [name, code] of await operatorFiles()) {
    const path = join(directory, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, code);
  }
  return join(directory, operatorFile);
}
