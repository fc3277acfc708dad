import { existsSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";

/** Something that the image is made of is not on this machine; the message says what to install. */
export class ImageError extends Error {}

/** Node's own names of processors. */
export type Processor = "x64" | "arm64";

const packages = join(import.meta.dirname, "..", "..");

/** A compiled module with everything that it imports as one file. @throws {ImageError} where nothing is built. */
export async function bundled(input: string): Promise<string> {
  const path = join(packages, input);
  if (!existsSync(path)) throw new ImageError(`${path} is not here; npm run build`);
  await using bundle = await rolldown({ input: path, platform: "node", logLevel: "silent" });
  const { output } = await bundle.generate({ format: "cjs", codeSplitting: false, minify: true });
  return output[0].code;
}

/** The init as `npm run build:init` leaves it. @throws {ImageError} where it is not built. */
export function builtInit(processor: Processor): string {
  const path = join(packages, "init", "dist", `lameduck-init-${processor}`);
  if (existsSync(path)) return path;
  throw new ImageError(`${path} is not here; npm run build:init`);
}
