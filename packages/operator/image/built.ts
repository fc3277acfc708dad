import { existsSync } from "node:fs";
import { join } from "node:path";
import { rolldown, type OutputOptions } from "rolldown";

/** Something that the image is made of is not on this machine; the message says what to install. */
export class ImageError extends Error {}

/** Node's own names of processors. */
export type Processor = "x64" | "arm64";

/** The operator's program in the image. */
export const operatorFile = "lameduck-operator.cjs";

const packages = join(import.meta.dirname, "..", "..");

/** A compiled module with everything that it imports as one file. @throws {ImageError} where nothing is built. */
export async function bundled(input: string): Promise<string> {
  const [[, code = ""] = []] = await bundle(input, { codeSplitting: false });
  return code;
}

/**
 * The operator's files by name. Each command loads its own part. In one file the webhook's code would cost each watcher 14 MB.
 * @throws {ImageError} where nothing is built.
 */
export function operatorFiles(): Promise<ReadonlyMap<string, string>> {
  const chunkFileNames = "lameduck-operator/[name].cjs";
  return bundle("operator/dist/main.js", { entryFileNames: operatorFile, chunkFileNames });
}

async function bundle(input: string, options: OutputOptions): Promise<ReadonlyMap<string, string>> {
  const path = join(packages, input);
  if (!existsSync(path)) throw new ImageError(`${path} is not here; npm run build`);
  await using build = await rolldown({ input: path, platform: "node", logLevel: "silent" });
  const { output } = await build.generate({ format: "cjs", minify: true, ...options });
  return new Map(output.map((file) => [file.fileName, file.type === "chunk" ? file.code : ""]));
}

/** The init as `npm run build:init` leaves it. @throws {ImageError} where it is not built. */
export function builtInit(processor: Processor): string {
  const path = join(packages, "init", "dist", `lameduck-init-${processor}`);
  if (existsSync(path)) return path;
  throw new ImageError(`${path} is not here; npm run build:init`);
}
