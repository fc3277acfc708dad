import { existsSync } from "node:fs";
import { join } from "node:path";
import { rolldown, type OutputOptions, type RolldownOutput } from "rolldown";

/** Something that the image is made of is not on this machine; the message says what to install. */
export class ImageError extends Error {}

/** Node's own names of processors. */
export type Processor = "x64" | "arm64";

/** The operator's program in the image. */
export const operatorFile = "lameduck-operator.cjs";

const packages = join(import.meta.dirname, "..", "..");

/** Takes the folders of the npm packages whose code is in a bundle. */
export type Used = Set<string>;

/** A compiled module with everything that it imports as one file. @throws {ImageError} where nothing is built. */
export async function bundled(input: string, used?: Used): Promise<string> {
  const [[, code = ""] = []] = await bundle(input, { codeSplitting: false }, used);
  return code;
}

/**
 * The operator's files by name. Each command loads its own part. In one file the webhook's code would cost each watcher 14 MB.
 * @throws {ImageError} where nothing is built.
 */
export function operatorFiles(used?: Used): Promise<ReadonlyMap<string, string>> {
  const chunkFileNames = "lameduck-operator/[name].cjs";
  return bundle("operator/dist/main.js", { entryFileNames: operatorFile, chunkFileNames }, used);
}

/** A package of the registry with everything that it imports, as a folder of `node_modules`: name and content of each file. */
export async function bundledPackage(
  name: string,
  usedBy: string,
  used?: Used,
): Promise<ReadonlyMap<string, string>> {
  const cwd = join(packages, usedBy);
  await using build = await rolldown({ input: name, cwd, platform: "node", logLevel: "silent" });
  const { output } = await build.generate({ format: "es", minify: true, codeSplitting: false });
  const [{ code }] = output;
  note(output, used);
  const described = { name, type: "module", exports: "./index.js" };
  return new Map([
    ["index.js", code],
    ["package.json", `${JSON.stringify(described)}\n`],
  ]);
}

async function bundle(
  input: string,
  options: OutputOptions,
  used?: Used,
): Promise<ReadonlyMap<string, string>> {
  const path = join(packages, input);
  if (!existsSync(path)) throw new ImageError(`${path} is not here; npm run build`);
  await using build = await rolldown({ input: path, platform: "node", logLevel: "silent" });
  const { output } = await build.generate({ format: "cjs", minify: true, ...options });
  note(output, used);
  return new Map(output.map((file) => [file.fileName, file.type === "chunk" ? file.code : ""]));
}

/** What was left out of a bundle because nothing uses it does not count. */
function note(output: RolldownOutput["output"], used: Used | undefined): void {
  for (const file of output)
    for (const module of file.type === "chunk" ? file.moduleIds : []) {
      const [folder] = /^\/.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(module) ?? [];
      if (folder !== undefined) used?.add(folder);
    }
}

/** The init as `npm run build:init` leaves it. @throws {ImageError} where it is not built. */
export function builtInit(processor: Processor): string {
  const path = join(packages, "init", "dist", `lameduck-init-${processor}`);
  if (existsSync(path)) return path;
  throw new ImageError(`${path} is not here; npm run build:init`);
}
