/** A reporter for node:test: notes the files in which a test was skipped, a line each. `npm test -- --skipped` runs these again. */
import { fileURLToPath } from "node:url";
import { relative } from "node:path";

const root = fileURLToPath(new URL("..", import.meta.url));

interface Told {
  readonly type: string;
  readonly data: { readonly skip?: string | boolean; readonly file?: string };
}

export default async function* skipped(told: AsyncIterable<Told>): AsyncGenerator<string> {
  const files = new Set<string>();
  for await (const { type, data } of told)
    if (type === "test:pass" && data.skip !== undefined && data.file !== undefined)
      files.add(relative(root, data.file));
  for (const file of files) yield `${file}\n`;
}
