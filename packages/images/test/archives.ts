import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { Header, Pax } from "tar";
import { usualLimits, type Limits } from "../src/limits.ts";
import { Unpacker } from "../src/unpack.ts";

/** An entry of a tar archive, honest or not. */
export interface Entry {
  readonly path: string;
  readonly type?:
    | "File"
    | "Directory"
    | "SymbolicLink"
    | "Link"
    | "CharacterDevice"
    | "BlockDevice"
    | "FIFO"
    | "ContiguousFile";
  readonly text?: string | Buffer;
  readonly linkpath?: string;
  readonly mode?: number;
  readonly uid?: number;
  /** Instead of the text's own. */
  readonly size?: number;
}

export function tarOf(...entries: readonly Entry[]): Buffer {
  const blocks = entries.flatMap(({ path, type = "File", text = "", linkpath, mode, uid = 0, size }) => {
    const bytes = Buffer.from(text);
    const fields = {
      path,
      type,
      mode: mode ?? (type === "Directory" ? 0o755 : 0o644),
      uid,
      gid: uid,
      size: size ?? bytes.length,
      mtime: new Date(0),
      ...(linkpath === undefined ? {} : { linkpath }),
    };
    const header = Buffer.alloc(512);
    const isLong = new Header(fields).encode(header);
    return [
      ...(isLong ? [new Pax({ path, ...(linkpath === undefined ? {} : { linkpath }) }).encode()] : []),
      header,
      bytes,
      Buffer.alloc((512 - (bytes.length % 512)) % 512),
    ];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1_024)]);
}

export function digestOf(bytes: Buffer | string): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

interface ImageParts {
  readonly config?: Readonly<Record<string, unknown>>;
  readonly names?: readonly string[];
  readonly architecture?: string;
  readonly compress?: (bytes: Buffer) => Buffer;
  /** Instead of those of the layers. */
  readonly diffIds?: readonly string[];
}

function configText(layers: readonly Buffer[], { config = {}, architecture, diffIds }: ImageParts): string {
  return JSON.stringify({
    architecture: architecture ?? { x64: "amd64" }[process.arch as string] ?? process.arch,
    os: "linux",
    config,
    rootfs: { type: "layers", diff_ids: diffIds ?? layers.map(digestOf) },
  });
}

/** As `docker save` wrote it before OCI layouts. */
export function dockerArchive(layers: readonly Buffer[], parts: ImageParts = {}): Buffer {
  const { names = ["web:1"], compress = (bytes) => bytes } = parts;
  const text = configText(layers, parts);
  return tarOf(
    ...layers.map((layer, index) => ({ path: `layer-${index}/layer.tar`, text: compress(layer) })),
    { path: "config.json", text },
    {
      path: "manifest.json",
      text: JSON.stringify([
        {
          Config: "config.json",
          RepoTags: names,
          Layers: layers.map((_, index) => `layer-${index}/layer.tar`),
        },
      ]),
    },
  );
}

/** The files of an OCI layout. */
export function layoutFiles(layers: readonly Buffer[], parts: ImageParts = {}): Entry[] {
  const { names = ["web:1"], compress = gzipSync } = parts;
  const blobs: Entry[] = [];
  const blob = (bytes: Buffer | string): { digest: string; size: number } => {
    const digest = digestOf(bytes);
    blobs.push({ path: `blobs/sha256/${digest.slice(7)}`, text: bytes });
    return { digest, size: bytes.length };
  };
  const packed = layers.map((layer) => blob(compress(layer)));
  const config = blob(configText(layers, parts));
  const manifest = blob(JSON.stringify({ schemaVersion: 2, config, layers: packed }));
  const index = {
    schemaVersion: 2,
    manifests: names.map((name) => ({
      ...manifest,
      annotations: { "org.opencontainers.image.ref.name": name },
    })),
  };
  const unique = new Map(blobs.map((one) => [one.path, one]));
  return [
    ...unique.values(),
    { path: "oci-layout", text: '{"imageLayoutVersion":"1.0.0"}' },
    { path: "index.json", text: JSON.stringify(index) },
  ];
}

/** Lays layers over each other in a folder. */
export async function unpack(
  root: string,
  layers: readonly Buffer[],
  {
    limits = {},
    signal = new AbortController().signal,
  }: { limits?: Partial<Limits>; signal?: AbortSignal } = {},
): Promise<number> {
  const unpacker = new Unpacker(root, {
    limits: { ...usualLimits, ...limits },
    signal,
    owners: process.getuid?.() === 0,
    onProgress: () => undefined,
  });
  for (const layer of layers)
    await unpacker.layer({ place: "layer", digest: digestOf(layer), open: () => Readable.from([layer]) });
  return unpacker.bytes;
}
