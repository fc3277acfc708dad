import { createHash } from "node:crypto";
import { readFile, realpath, stat } from "node:fs/promises";
import { writeArchive, type LayerFile, type Layer as PlainLayer } from "@lameduck/operator/image";
import { attempt } from "../host/run.ts";

export interface ImageFile extends LayerFile {
  /** The shared libraries that it names come along. */
  readonly withLibraries?: boolean;
}

export interface Layer extends PlainLayer {
  readonly files: readonly ImageFile[];
}

export interface Image {
  readonly reference: string;
  /** Layers with equal content are stored once, whatever images they belong to. */
  readonly layers: readonly Layer[];
  readonly entrypoint: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** The signal that ends its containers, SIGTERM unless given. */
  readonly stopSignal?: string;
}

/** Up to this size a file is known by its content; a rebuilt but equal library makes no new image. */
const smallFile = 1 << 20;

/** What an image would contain: cheap enough to ask at every start. */
export async function fingerprint(image: Image): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify(image));
  for (const { from } of image.layers.flatMap((layer) => layer.files)) {
    if (from === undefined) continue;
    const { size, mtimeMs } = await stat(await realpath(from));
    if (size <= smallFile) hash.update(`${from}\n`).update(await readFile(from));
    else hash.update(`${from} ${size} ${mtimeMs}\n`);
  }
  return hash.digest("hex").slice(0, 16);
}

/** Writes the image as an OCI layout in a tar file, which `ctr images import` reads. */
export async function writeImage({ layers, ...image }: Image, file: string): Promise<void> {
  const whole = await Promise.all(
    layers.map(async (layer) => ({ ...layer, files: await withLibraries(layer.files) })),
  );
  const architecture = process.arch === "x64" ? "amd64" : "arm64";
  await writeArchive([{ ...image, layers: whole, architecture }], file, { reference: image.reference });
}

/** The files, each followed by the libraries that it needs. */
async function withLibraries(files: readonly ImageFile[]): Promise<LayerFile[]> {
  const all: LayerFile[] = [];
  for (const { withLibraries: wanted = false, ...file } of files) {
    all.push(file);
    if (!wanted || file.from === undefined) continue;
    for (const library of await librariesOf(file.from)) all.push({ to: library, from: library });
  }
  return all;
}

/** The shared libraries and the loader of a dynamic program, but not those that lie beside it. A static program, which ldd refuses, has none. */
async function librariesOf(program: string): Promise<string[]> {
  const { stdout } = await attempt("ldd", [await realpath(program)]);
  return stdout
    .split("\n")
    .map((line) => /(?:=> )?(\/\S+) \(0x/.exec(line)?.[1])
    .filter((path) => path !== undefined)
    .filter((path) => !path.includes("/../"));
}
