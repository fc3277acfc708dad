import { createHash } from "node:crypto";
import { mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { writeLayer, type Layer, type WrittenLayer } from "./layer.ts";
import { TarWriter } from "./tar.ts";

/** As Go and with it all container programs name them. */
type Architecture = "amd64" | "arm64";

export interface PlatformImage {
  readonly architecture: Architecture;
  /** Layers with equal content are stored once. */
  readonly layers: readonly Layer[];
  readonly entrypoint: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Numbers, so that a kubelet can see that it is not root. */
  readonly user?: string;
  /** The signal that ends its containers, SIGTERM unless given. */
  readonly stopSignal?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface ArchiveOptions {
  /** REPOSITORY:TAG, by which containerd knows the image once it is imported. */
  readonly reference: string;
  /** For registries; what is only imported on the same machine saves the time. */
  readonly compress?: boolean;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Everything that an archive contains is stored by its digest. */
interface Blob {
  readonly digest: string;
  readonly size: number;
  readonly path?: string;
  readonly bytes?: Buffer;
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: { readonly architecture: Architecture; readonly os: string };
}

const mediaType = (name: string): string => `application/vnd.oci.image.${name}`;
const index = mediaType("index.v1+json");
/** PATH of every image. */
export const path = "/usr/local/bin:/usr/sbin:/usr/bin:/bin";
const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const blobPath = (digest: string): string => `blobs/sha256/${digest.slice("sha256:".length)}`;
const describe = (type: string, { digest, size }: Blob): Descriptor => ({ mediaType: type, digest, size });

function blobOf(bytes: Buffer): Blob {
  return { digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}`, size: bytes.length, bytes };
}

/**
 * Writes an OCI layout in a tar file, which `ctr images import`, `podman load` and skopeo read: an image for each platform, and an index over
 * several. Equal content gives equal bytes.
 * @returns the digest by which the image can be pulled.
 */
export async function writeArchive(
  images: readonly PlatformImage[],
  file: string,
  options: ArchiveOptions,
): Promise<string> {
  const { reference, annotations } = options;
  const workplace = await mkdtemp(`${file}.`);
  try {
    const blobs = new Map<string, Blob>();
    const store = (blob: Blob): Blob => blobs.set(blob.digest, blob).get(blob.digest) ?? blob;
    const manifests: Descriptor[] = [];
    for (const image of images) {
      const manifest = await manifestOf(image, workplace, store, options);
      const platform = { architecture: image.architecture, os: "linux" };
      manifests.push({ ...describe(mediaType("manifest.v1+json"), store(manifest)), platform });
    }
    const [first] = manifests;
    if (first === undefined) throw new RangeError("an image for at least one platform");
    const whole =
      manifests.length === 1
        ? first
        : describe(
            index,
            store(blobOf(bytesOf({ schemaVersion: 2, mediaType: index, manifests, annotations }))),
          );
    const names = {
      "io.containerd.image.name": reference,
      "org.opencontainers.image.ref.name": reference.slice(reference.lastIndexOf(":") + 1),
    };
    const unfinished = join(workplace, "image.tar");
    const tar = await TarWriter.create(unfinished);
    const add = (name: string, content: Buffer): Promise<void> =>
      tar.add({ path: name, mode: 0o644, content });
    await add("oci-layout", bytesOf({ imageLayoutVersion: "1.0.0" }));
    await add("index.json", bytesOf({ schemaVersion: 2, manifests: [{ ...whole, annotations: names }] }));
    for (const { digest, bytes, path: stored } of blobs.values())
      await add(blobPath(digest), bytes ?? (await readFile(stored ?? "")));
    await tar.end();
    await rename(unfinished, file);
    return whole.digest;
  } finally {
    await rm(workplace, { recursive: true, force: true });
  }
}

async function manifestOf(
  image: PlatformImage,
  workplace: string,
  store: (blob: Blob) => Blob,
  { compress = false, annotations }: ArchiveOptions,
): Promise<Blob> {
  const plain: WrittenLayer[] = [];
  for (const [number, layer] of image.layers.entries())
    plain.push(await writeLayer(layer, join(workplace, `${image.architecture}-${number}.tar`)));
  const layers: Blob[] = [];
  for (const layer of plain) layers.push(store(compress ? await compressed(layer) : layer));
  const configuration = store(blobOf(bytesOf(configurationOf(image, plain))));
  const layerType = mediaType(compress ? "layer.v1.tar+gzip" : "layer.v1.tar");
  return blobOf(
    bytesOf({
      schemaVersion: 2,
      mediaType: mediaType("manifest.v1+json"),
      config: describe(mediaType("config.v1+json"), configuration),
      layers: layers.map((layer) => describe(layerType, layer)),
      annotations,
    }),
  );
}

function configurationOf(image: PlatformImage, layers: readonly WrittenLayer[]): object {
  const environment = Object.entries({ PATH: path, ...image.environment });
  return {
    architecture: image.architecture,
    os: "linux",
    config: {
      User: image.user,
      Entrypoint: image.entrypoint,
      Env: environment.map(([name, value]) => `${name}=${value}`),
      StopSignal: image.stopSignal,
      Labels: image.labels,
    },
    rootfs: { type: "layers", diff_ids: layers.map(({ digest }) => digest) },
  };
}

/** Node's zlib writes no time and no name into what it compresses, so that this is reproducible, too. */
async function compressed({ path: from }: WrittenLayer): Promise<Blob> {
  return blobOf(await promisify(gzip)(await readFile(from), { level: 6 }));
}
