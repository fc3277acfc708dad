import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

import { readRequests, type RequestsOptions, type RequestsRead } from "../src/requests-file/read.ts";

export const golden = (name: string): string => join(import.meta.dirname, "fixtures", "requests-file", name);

/** Times of the run are those of the file. */
const clock = { fromEpoch: (milliseconds: number): number => milliseconds };

export function read(
  files: string | readonly string[],
  options: Partial<RequestsOptions> = {},
): Promise<RequestsRead> {
  return readRequests([files].flat(), { clock, ...options });
}

/** Reads a text as if it were a file of that name. */
export async function readText(
  t: TestContext,
  content: string | Uint8Array,
  options: Partial<RequestsOptions> = {},
): Promise<RequestsRead> {
  const folder = await mkdtemp(join(tmpdir(), "lameduck-requests-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "file");
  await writeFile(file, content);
  return read(file, options);
}
