import { createHash } from "node:crypto";
import type { Blobs } from "./blobs.ts";
import {
  configOf,
  isForThisMachine,
  mustBeForThisMachine,
  objectOf,
  ownArchitecture,
  parsed,
  textsOf,
  unreadable,
  type ImageConfig,
} from "./config.ts";
import { ImageError } from "./errors.ts";
import { type Limits, tooLarge } from "./limits.ts";
import type { Layer } from "./unpack.ts";

/** An image in an archive or a layout, read but not unpacked. */
export interface PackedImage {
  /** "sha256:..." of its configuration, which names all layers. */
  readonly digest: string;
  readonly config: ImageConfig;
  readonly layers: readonly Layer[];
}

/** An archive or a layout, and what it may have. */
interface Source {
  readonly blobs: Blobs;
  /** For errors. */
  readonly place: string;
  readonly limits: Limits;
}

/**
 * Finds an image among those of an archive (of docker, or of OCI) or a layout.
 * @param wanted - its name, or a part of it; where there is only one image, any will do.
 * @throws {ImageError}
 */
export function readImage(source: Source, wanted: string | undefined): PackedImage {
  const { blobs, place, limits } = source;
  const json = (name: string): unknown => parsed(blobs.text(name, limits.jsonBytes), `${place}: ${name}`);
  if (blobs.has("manifest.json")) return ofDocker(json, source, wanted);
  if (blobs.has("index.json")) return ofLayout(json, source, wanted);
  throw unreadable(place, "holds neither manifest.json (docker) nor index.json (OCI)");
}

type Json = (name: string) => unknown;

function ofDocker(json: Json, source: Source, wanted: string | undefined): PackedImage {
  const { place } = source;
  const list = json("manifest.json");
  if (!Array.isArray(list) || list.length === 0) throw unreadable(place, "manifest.json lists no image");
  const images = list.map((one) => objectOf(one, `${place}: manifest.json`));
  const image = chosen(images, wanted, place, (one) => textsOf(one["RepoTags"], `${place}: RepoTags`));
  const [config] = textsOf([image["Config"]], `${place}: Config`);
  return packed(source, config ?? "", textsOf(image["Layers"], `${place}: Layers`));
}

/** Names that tools give an image in an index. */
const nameAnnotations = ["io.containerd.image.name", "org.opencontainers.image.ref.name"];

function ofLayout(json: Json, source: Source, wanted: string | undefined): PackedImage {
  const { blobs, place } = source;
  let list = manifestsOf(json("index.json"), place);
  let image = chosen(list, wanted, place, (one) => {
    const annotations = objectOf(one["annotations"] ?? {}, place);
    return nameAnnotations.flatMap((name) =>
      textsOf(annotations[name] === undefined ? [] : [annotations[name]], place),
    );
  });
  // An image for several processors is an index of images.
  for (let depth = 0; ; depth++) {
    const manifest = objectOf(json(blobOf(image, place)), place);
    if (!("manifests" in manifest)) return ofManifest(manifest, source, image);
    if (depth === 3) throw unreadable(place, "is an index of indexes of indexes");
    list = manifestsOf(manifest, place);
    const own = list.find(
      (one) => isForThisMachine(objectOf(one["platform"] ?? {}, place)) && blobs.has(blobOf(one, place)),
    );
    if (!own)
      throw new ImageError(
        "LAMEDUCK_IMAGE_OTHER_PLATFORM",
        place,
        `of the processors that the image is for, it holds none for linux/${ownArchitecture()}`,
      );
    image = own;
  }
}

type Plain = Readonly<Record<string, unknown>>;

function manifestsOf(index: unknown, place: string): Plain[] {
  const { manifests } = objectOf(index, place) as { manifests?: unknown };
  if (!Array.isArray(manifests) || manifests.length === 0)
    throw unreadable(place, "its index lists no image");
  return manifests.map((one) => objectOf(one, place));
}

function ofManifest(manifest: Plain, source: Source, descriptor: Plain): PackedImage {
  const { place } = source;
  mustMatch(source, blobOf(descriptor, place));
  const config = blobOf(objectOf(manifest["config"], `${place}: config`), place);
  mustMatch(source, config);
  const { layers } = manifest;
  if (!Array.isArray(layers)) throw unreadable(place, "its manifest lists no layers");
  const names = layers.map((one) => blobOf(objectOf(one, place), place));
  return packed(source, config, names);
}

/** The path of what a descriptor names. Nothing else than a digest goes into it. */
function blobOf(descriptor: Plain, place: string): string {
  const [, digest] = /^sha256:([0-9a-f]{64})$/.exec(String(descriptor["digest"])) ?? [];
  if (digest === undefined) throw unreadable(place, `${String(descriptor["digest"])} is no sha256 digest`);
  return `blobs/sha256/${digest}`;
}

function mustMatch({ blobs, place, limits }: Source, name: string): void {
  if (name.endsWith(digestOf(blobs.text(name, limits.jsonBytes)).slice("sha256:".length))) return;
  throw new ImageError("LAMEDUCK_IMAGE_REFUSED", place, `${name} is not what its name says`);
}

function digestOf(text: string): string {
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

/** One by its name; of several without a name that fits, none. */
function chosen(
  images: readonly Plain[],
  wanted: string | undefined,
  place: string,
  namesOf: (image: Plain) => readonly string[],
): Plain {
  const named = images.find(
    (one) => wanted !== undefined && namesOf(one).some((name) => isNamed(name, wanted)),
  );
  const [first, ...others] = images;
  if (named ?? others.length === 0) return named ?? first!;
  const names = images.flatMap(namesOf).join(", ") || "none with a name";
  throw new ImageError(
    "LAMEDUCK_IMAGE_UNREADABLE",
    place,
    `holds ${images.length} images (${names})${wanted === undefined ? "" : `, none called ${wanted}`}`,
    { remedy: `name one of them: --image NAME=${place}` },
  );
}

/** Registries and tags may be left out, as in docker's own names: "nginx" is "docker.io/library/nginx:latest". */
function isNamed(name: string, wanted: string): boolean {
  const whole = (text: string): string => {
    const short = text.replace(/^(?:docker\.io\/)?(?:library\/)?/, "");
    return /[:@][^/]*$/.test(short) ? short : `${short}:latest`;
  };
  return whole(name) === whole(wanted) || name === wanted || wanted.endsWith(`:${name}`);
}

function packed(
  { blobs, place, limits }: Source,
  configName: string,
  layers: readonly string[],
): PackedImage {
  const text = blobs.text(configName, limits.jsonBytes);
  const whole = objectOf(parsed(text, `${place}: ${configName}`), `${place}: ${configName}`);
  mustBeForThisMachine(whole, place);
  const digests = textsOf(objectOf(whole["rootfs"], `${place}: rootfs`)["diff_ids"], `${place}: diff_ids`);
  if (digests.length !== layers.length)
    throw unreadable(place, `has ${layers.length} layers, and its configuration names ${digests.length}`);
  if (layers.length > limits.layers) throw tooLarge(place, `has more than ${limits.layers} layers`);
  return {
    digest: digestOf(text),
    config: configOf(whole["config"], `${place}: ${configName}`),
    layers: layers.map((name, index) => ({
      place: `${place}, layer ${index + 1} of ${layers.length}`,
      digest: digests[index]!,
      open: () => blobs.open(name),
    })),
  };
}
