import { existsSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { ImageError } from "./errors.ts";

const packages = join(import.meta.dirname, "..", "..");

/** A compiled module with everything that it imports as one file. @throws {ImageError} where nothing is built. */
export async function bundled(input: string): Promise<string> {
  const path = join(packages, input);
  if (!existsSync(path)) throw new ImageError(`${path} is not here; npm run build`);
  await using bundle = await rolldown({ input: path, platform: "node", logLevel: "silent" });
  const { output } = await bundle.generate({ format: "cjs", codeSplitting: false, minify: true });
  return output[0].code;
}
