import { createHash } from "node:crypto";
import { mkdtemp, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { attempt } from "../host/run.ts";
import { TarWriter } from "./tar.ts";

export interface ImageFile {
  /** Path in the image. */
  readonly to: string;
  /** A file of this machine; with `withLibraries`, the shared libraries it names come along. */
  readonly from?: string;
  readonly content?: string;
  readonly mode?: number;
  readonly withLibraries?: boolean;
}

export interface Layer {
  readonly files: readonly ImageFile[];
  /** Empty directories, made with mode 1777: for programs that write without being root. */
  readonly writable?: readonly string[];
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

const platform = (): string => (process.arch === "x64" ? "amd64" : process.arch);
const digestOf = (bytes: Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
const blobPath = (digest: string): string => `blobs/sha256/${digest.slice("sha256:".length)}`;

interface Blob {
  readonly digest: string;
  readonly size: number;
  readonly path?: string;
  readonly bytes?: Buffer;
}

/** Writes the image as an OCI layout in a tar file, which `ctr images import` reads. */
export async function writeImage(image: Image, file: string): Promise<void> {
  const workplace = await mkdtemp(`${file}.`);
  try {
    const layers: Blob[] = [];
    for (const [index, layer] of image.layers.entries())
      layers.push(await writeLayer(layer, join(workplace, `layer${index}.tar`)));
    const configuration = jsonBlob({
      architecture: platform(),
      os: "linux",
      config: {
        Entrypoint: image.entrypoint,
        Env: Object.entries({ PATH: "/usr/local/bin:/usr/sbin:/usr/bin:/bin", ...image.environment }).map(
          ([name, value]) => `${name}=${value}`,
        ),
        ...(image.stopSignal === undefined ? {} : { StopSignal: image.stopSignal }),
      },
      rootfs: { type: "layers", diff_ids: layers.map((layer) => layer.digest) },
    });
    const describe = (mediaType: string, { digest, size }: Blob): object => ({ mediaType, digest, size });
    const manifest = jsonBlob({
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      config: describe("application/vnd.oci.image.config.v1+json", configuration),
      layers: layers.map((layer) => describe("application/vnd.oci.image.layer.v1.tar", layer)),
    });
    const index = {
      schemaVersion: 2,
      manifests: [
        {
          ...describe("application/vnd.oci.image.manifest.v1+json", manifest),
          annotations: { "io.containerd.image.name": image.reference },
        },
      ],
    };
    const unfinished = join(workplace, "image.tar");
    const tar = await TarWriter.create(unfinished);
    await tar.add({
      path: "oci-layout",
      mode: 0o644,
      content: Buffer.from('{"imageLayoutVersion":"1.0.0"}'),
    });
    await tar.add({ path: "index.json", mode: 0o644, content: Buffer.from(JSON.stringify(index)) });
    const blobs = new Map([...layers, configuration, manifest].map((blob) => [blob.digest, blob]));
    for (const { digest, bytes, path } of blobs.values())
      await tar.add({ path: blobPath(digest), mode: 0o644, content: bytes ?? (await readFile(path ?? "")) });
    await tar.end();
    await rename(unfinished, file);
  } finally {
    await rm(workplace, { recursive: true, force: true });
  }
}

function jsonBlob(value: unknown): Blob {
  const bytes = Buffer.from(JSON.stringify(value));
  return { digest: digestOf(bytes), size: bytes.length, bytes };
}

async function writeLayer(layer: Layer, path: string): Promise<Blob> {
  const tar = await TarWriter.create(path);
  const written = new Set<string>(["/"]);
  const addDirectory = async (directory: string, mode: number): Promise<void> => {
    if (written.has(directory)) return;
    await addDirectory(dirname(directory), 0o755);
    written.add(directory);
    await tar.add({ path: directory.slice(1), mode, type: "directory" });
  };
  const addFile = async (file: ImageFile): Promise<void> => {
    if (written.has(file.to)) return;
    await addDirectory(dirname(file.to), 0o755);
    written.add(file.to);
    const mode = file.mode ?? 0o755;
    if (file.content !== undefined)
      await tar.add({ path: file.to.slice(1), mode, content: Buffer.from(file.content) });
    else if (file.from !== undefined) await tar.addFile(file.to.slice(1), await realpath(file.from), mode);
  };
  for (const directory of layer.writable ?? []) await addDirectory(directory, 0o1777);
  for (const file of layer.files) {
    await addFile(file);
    if (file.withLibraries && file.from !== undefined)
      for (const library of await librariesOf(file.from)) await addFile({ to: library, from: library });
  }
  const digest = await tar.end();
  return { digest, size: tar.size, path };
}

/** The shared libraries and the loader of a dynamic program; none for a static one, which ldd refuses. */
export async function librariesOf(program: string): Promise<string[]> {
  const { stdout } = await attempt("ldd", [await realpath(program)]);
  return stdout
    .split("\n")
    .map((line) => /(?:=> )?(\/\S+) \(0x/.exec(line)?.[1])
    .filter((path) => path !== undefined);
}
