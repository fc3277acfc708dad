import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { initVolumeKeys } from "@lameduck/inject";
import { initFile, registerFile } from "@lameduck/protocol";
import { builtInit, bundled, operatorFile, operatorFiles, type Processor } from "./built.ts";
import { librariesFor } from "./libraries.ts";
import { nodeBinary } from "./node-binary.ts";
import { programsFor } from "./programs.ts";
import { writeArchive, type PlatformImage } from "./oci/archive.ts";
import type { LayerFile } from "./oci/layer.ts";

export { operatorFiles } from "./built.ts";
export { writeArchive, type PlatformImage } from "./oci/archive.ts";
export type { Layer, LayerFile } from "./oci/layer.ts";

const root = join(import.meta.dirname, "..", "..", "..");
const architectures = { x64: "amd64", arm64: "arm64" } as const;
const processors: readonly Processor[] = ["x64", "arm64"];

/**
 * Where things lie in the image. An image volume is the image as a whole, so that lameduck-init of its own processor has a fixed path at the
 * top; the operator copies the files of `initVolume` into ConfigMaps, by the names that injected pods ask for.
 */
export const places = {
  node: "/usr/local/bin/node",
  operator: `/${operatorFile}`,
  init: `/${initFile}`,
  register: `/${registerFile}`,
  initVolume: "/init-volume",
} as const;

export const defaultRepository = "lameduck.example/lameduck";

export interface ImageOptions {
  /** Those of the archive; all unless given. */
  readonly processors?: readonly Processor[];
  readonly repository?: string;
  readonly compress?: boolean;
}

export interface WrittenImage {
  readonly reference: string;
  readonly digest: string;
}

/** Writes the image of this checkout, as it is built, into a tar file. @throws {ImageError} naming what is missing. */
export async function writeOperatorImage(file: string, options: ImageOptions = {}): Promise<WrittenImage> {
  const { version, labels } = await described();
  const reference = `${options.repository ?? defaultRepository}:${version}`;
  const images: PlatformImage[] = [];
  for (const processor of options.processors ?? processors) images.push(await operatorImage(processor));
  const { compress = true } = options;
  const digest = await writeArchive(images, file, { reference, compress, annotations: labels });
  return { reference, digest };
}

/** @throws {ImageError} naming what is missing. */
export async function operatorImage(processor: Processor): Promise<PlatformImage> {
  const node = await nodeBinary(processor);
  const { labels } = await described();
  return {
    architecture: architectures[processor],
    layers: [
      { files: [...librariesFor(processor), { to: places.node, from: node.path }] },
      { files: await programsFor(processor) },
      { files: [...(await ownFiles()), { to: places.init, from: builtInit(processor) }] },
    ],
    entrypoint: [places.node, places.operator],
    environment: { NODE_VERSION: node.version, NODE_ENV: "production" },
    user: "65532:65532",
    labels,
  };
}

async function described(): Promise<{ version: string; labels: Readonly<Record<string, string>> }> {
  const { version, homepage } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
    version: string;
    homepage: string;
  };
  const labels = {
    "org.opencontainers.image.title": "lameduck",
    "org.opencontainers.image.version": version,
    "org.opencontainers.image.licenses": "Apache-2.0",
    "org.opencontainers.image.url": homepage,
  };
  return { version, labels };
}

/** What is the same for every processor. */
async function ownFiles(): Promise<LayerFile[]> {
  const mode = 0o644;
  const register = await bundled("node/dist/register.js");
  return [
    { to: "/etc/passwd", mode, content: "lameduck:x:65532:65532::/:/sbin/nologin\n" },
    { to: "/etc/group", mode, content: "lameduck:x:65532:\n" },
    { to: "/LICENSE", mode, from: join(root, "LICENSE") },
    ...Array.from(await operatorFiles(), ([name, content]) => ({ to: `/${name}`, mode, content })),
    { to: places.register, mode, content: register },
    { to: `${places.initVolume}/${registerFile}`, mode, content: register },
    ...processors.map((processor) => ({
      to: `${places.initVolume}/${initVolumeKeys[architectures[processor]]}`,
      from: builtInit(processor),
    })),
  ];
}
