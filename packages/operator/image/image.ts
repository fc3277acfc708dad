import { readFileSync } from "node:fs";
import { join } from "node:path";
import { initVolumeKeys } from "@lameduck/inject";
import { initFile, registerFile } from "@lameduck/protocol";
import {
  builtInit,
  bundled,
  bundledPackage,
  operatorFile,
  operatorFiles,
  type Processor,
  type Used,
} from "./built.ts";
import { describeContents, type Bill } from "./bill/bill.ts";
import { together } from "./bill/licences.ts";
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

const { version, homepage, license, addresses } = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
) as { version: string; homepage: string; license: string; addresses: { image: string } };

export const defaultRepository = addresses.image;

/** What labels say of the image on any base. */
const commonLabels = {
  "org.opencontainers.image.title": "lameduck",
  "org.opencontainers.image.version": version,
  "org.opencontainers.image.url": homepage,
};

/** Of the tag of the image that reads clouds. */
const cloudSuffix = "-clouds";
/** What the watcher imports where it is there. */
export const cloudPackages = ["@aws-sdk/client-elastic-load-balancing-v2", "google-auth-library"] as const;

export interface ImageOptions {
  /** Those of the archive; all unless given. */
  readonly processors?: readonly Processor[];
  readonly repository?: string;
  readonly compress?: boolean;
  /** With a layer more: what reads load balancers of clouds. Its tag says so. */
  readonly clouds?: boolean;
}

export interface WrittenImage {
  readonly reference: string;
  readonly digest: string;
  /** Of everything in it, as SPDX writes it. */
  readonly licences: string;
  /** The bill of materials of each processor's image, by the name that containers have for it. */
  readonly bills: ReadonlyMap<string, string>;
}

/** An image with its bill of materials. */
export interface OperatorImage extends PlatformImage {
  readonly labels: Readonly<Record<string, string>>;
  readonly bill: string;
}

/** Writes the image of this checkout, as it is built, into a tar file. @throws {ImageError} naming what is missing. */
export async function writeOperatorImage(file: string, options: ImageOptions = {}): Promise<WrittenImage> {
  const { compress = true, clouds = false } = options;
  const reference = `${options.repository ?? defaultRepository}:${version}${clouds ? cloudSuffix : ""}`;
  const images: OperatorImage[] = [];
  for (const processor of options.processors ?? processors)
    images.push(await operatorImage(processor, { clouds }));
  // Those of the index are all of its images'.
  const all = together(images.map(({ labels }) => labels[licences] ?? ""));
  const annotations = { ...images[0]?.labels, [licences]: all };
  const digest = await writeArchive(images, file, { reference, compress, annotations });
  return {
    reference,
    digest,
    licences: all,
    bills: new Map(images.map(({ architecture, bill }) => [architecture, bill])),
  };
}

/** @throws {ImageError} naming what is missing. */
export async function operatorImage(
  processor: Processor,
  { clouds = false }: Pick<ImageOptions, "clouds"> = {},
): Promise<OperatorImage> {
  const libraries = librariesFor(processor);
  const programs = await programsFor(processor);
  const { node, own, ofClouds, bill } = await parts(processor, clouds, [...libraries, ...programs]);
  return {
    architecture: architectures[processor],
    layers: [
      { files: [...libraries, node] },
      { files: programs },
      { files: own },
      ...(clouds ? [{ files: ofClouds }] : []),
    ],
    entrypoint: [places.node, places.operator],
    environment: { NODE_ENV: "production" },
    user: "65532:65532",
    labels: { ...commonLabels, [licences]: bill.licence },
    bill: bill.text,
  };
}

/** What Lameduck brings to an image whose base brings what it is linked with. @throws {ImageError} naming what is missing. */
export async function ownPart(
  processor: Processor,
  { clouds = false }: Pick<ImageOptions, "clouds"> = {},
): Promise<{ files: readonly LayerFile[]; bill: string }> {
  const { node, own, ofClouds, bill } = await parts(processor, clouds, []);
  return { files: [node, ...own, ...ofClouds], bill: bill.text };
}

/** @param debian the files of Debian that are beside them, for the bill. */
async function parts(
  processor: Processor,
  clouds: boolean,
  debian: readonly LayerFile[],
): Promise<{ node: LayerFile; own: LayerFile[]; ofClouds: LayerFile[]; bill: Bill }> {
  const node = await nodeBinary(processor);
  const npm: Used = new Set();
  const own = await ownFiles(npm);
  const ofClouds = clouds ? await cloudFiles(npm) : [];
  const inits = processors.map(builtInit);
  const bill = describeContents({ version, debian, node, npm, inits, own: license });
  const init = { to: places.init, from: builtInit(processor) };
  return { node: { to: places.node, from: node.path }, own: [...own, ...bill.files, init], ofClouds, bill };
}

const licences = "org.opencontainers.image.licenses";

/** Each processor with its name among containers, and what labels say of the image on any base. */
export function describedImage(): {
  readonly processors: readonly (readonly [Processor, PlatformImage["architecture"]])[];
  readonly labels: Readonly<Record<string, string>>;
} {
  return { processors: processors.map((one) => [one, architectures[one]] as const), labels: commonLabels };
}

/** What only the watcher of clouds imports: some 0.8 MB. */
async function cloudFiles(used: Used): Promise<LayerFile[]> {
  const all: LayerFile[] = [];
  for (const name of cloudPackages)
    for (const [file, content] of await bundledPackage(name, "watcher", used))
      all.push({ to: `/node_modules/${name}/${file}`, mode: 0o644, content });
  return all;
}

/** What is the same for every processor. */
async function ownFiles(used: Used): Promise<LayerFile[]> {
  const mode = 0o644;
  const register = await bundled("node/dist/register.js", used);
  return [
    { to: "/etc/passwd", mode, content: "lameduck:x:65532:65532::/:/sbin/nologin\n" },
    { to: "/etc/group", mode, content: "lameduck:x:65532:\n" },
    { to: "/LICENSE", mode, from: join(root, "LICENSE") },
    ...Array.from(await operatorFiles(used), ([name, content]) => ({ to: `/${name}`, mode, content })),
    { to: places.register, mode, content: register },
    { to: `${places.initVolume}/${registerFile}`, mode, content: register },
    ...processors.map((processor) => ({
      to: `${places.initVolume}/${initVolumeKeys[architectures[processor]]}`,
      from: builtInit(processor),
    })),
  ];
}
