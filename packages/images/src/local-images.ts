import { createReadStream, existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { archiveBlobs, folderBlobs, type Blobs } from "./blobs.ts";
import { unreadable, type ImageConfig } from "./config.ts";
import { engines, inspect, save, type Engine, type Known } from "./engines.ts";
import { ImageError, ofFiles } from "./errors.ts";
import { spellBytes, usualLimits, type Limits } from "./limits.ts";
import { readImage, type PackedImage } from "./manifest.ts";
import { kindOfPath, type GivenImage, type Source } from "./source.ts";
import { ImageStore } from "./store.ts";
import { Unpacker } from "./unpack.ts";

/** An image of this machine that can be run. */
export interface LocalImage {
  readonly name: string;
  /** The folder of its root file system. It is only read. */
  readonly root: string;
  readonly config: ImageConfig;
  /** Where it is from, in words. */
  readonly origin: string;
}

type Said = Pick<LocalImage, "config" | "origin">;

interface LocalImagesOptions {
  /** What `--image` named. */
  readonly given?: readonly GivenImage[];
  readonly signal: AbortSignal;
  /** What is being done: a line that changes, and figures that change all the time. */
  readonly onProgress?: (stage: string, figures?: string) => void;
  readonly limits?: Limits;
  /** Made where an image has to be unpacked. */
  readonly store?: () => ImageStore;
  readonly askEngines?: boolean;
}

/** The images that this machine has: in files that were named, and in docker, podman and nerdctl. Nothing is pulled. */
export class LocalImages {
  readonly #options: LocalImagesOptions;
  readonly #found = new Map<string, Promise<LocalImage | undefined>>();
  readonly #said = new Map<string, Promise<Said | undefined>>();
  readonly #known = new Map<string, Promise<Known | undefined>>();
  #store: ImageStore | undefined;

  constructor(options: LocalImagesOptions) {
    this.#options = options;
  }

  /** What an image says of itself, unpacking nothing. @returns undefined where this machine does not have it, or it says nothing. */
  configOf(image: string): Promise<Said | undefined> {
    const known = this.#said.get(image) ?? this.#inStore(image, this.#ask(image));
    this.#said.set(image, known);
    return known;
  }

  async #ask(image: string): Promise<Said | undefined> {
    const { source, wanted } = this.#given(image);
    if (source.kind === "name") {
      const known = await this.#inspect(source);
      return known && { config: known.config, origin: originOf(known) };
    }
    const { path } = source;
    if (isRoot(path)) return undefined;
    const workspace = this.#openStore().workspace();
    try {
      return { config: (await this.#read(image, path, wanted, workspace.folder)).config, origin: path };
    } finally {
      workspace.remove();
    }
  }

  /**
   * An image with its files, unpacked where it was not.
   * @returns undefined where this machine does not have it.
   * @throws {ImageError}
   */
  find(image: string): Promise<LocalImage | undefined> {
    const known = this.#found.get(image) ?? this.#inStore(image, this.#make(image));
    this.#found.set(image, known);
    return known;
  }

  /** Waits for what is under way, which a signal may cut short. Images that are no longer run may be removed from the store. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#found.values(), ...this.#said.values()]);
    this.#store?.release();
  }

  async #inStore<T>(image: string, work: Promise<T>): Promise<T> {
    return work.catch((error: unknown) => {
      throw ofFiles(error, this.#store?.folder ?? image);
    });
  }

  #given(image: string): Pick<GivenImage, "source" | "wanted"> {
    const { given = [] } = this.#options;
    return given.find(({ name }) => name === image) ?? { source: { kind: "name", name: image } };
  }

  async #make(image: string): Promise<LocalImage | undefined> {
    const { source, wanted } = this.#given(image);
    if (source.kind === "path") return this.#ofPath(image, source.path, wanted);
    const known = await this.#inspect(source);
    if (!known) return undefined;
    const { engine, id } = known;
    const { signal } = this.#options;
    const key = `${engine}:${id}`;
    const stored = this.#stored(key, image);
    if (stored) return { ...stored, origin: originOf(known) };
    const made = await this.#unpacked(image, [key], async (folder) => {
      const saving = save(engine, source.name, signal);
      const archive = this.#archive(saving.archive, folder, image, image);
      const blobs = await archive.catch(async (error: unknown) => {
        // The engine's own words say more than an archive that ends too early.
        if (error instanceof ImageError && error.code === "LAMEDUCK_IMAGE_UNREADABLE") await saving.ended();
        throw error;
      });
      await saving.ended();
      return readImage({ blobs, place: image, limits: this.#limits }, source.name);
    });
    return { ...made, origin: originOf(known) };
  }

  async #ofPath(image: string, path: string, wanted: string | undefined): Promise<LocalImage> {
    if (isRoot(path)) return { name: image, root: path, config: {}, origin: path };
    const { size, mtimeMs, ino } = statSync(path);
    // A layout is a folder, of which these say nothing; it is read in no time.
    const keys =
      kindOfPath(path) === "archive" ? [`file:${path}:${size}:${mtimeMs}:${ino}:${wanted ?? ""}`] : [];
    const stored = keys[0] === undefined ? undefined : this.#stored(keys[0], image);
    if (stored) return { ...stored, origin: path };
    return this.#unpacked(image, keys, (folder) => this.#read(image, path, wanted, folder), path);
  }

  async #read(image: string, path: string, wanted: string | undefined, folder: string): Promise<PackedImage> {
    const blobs =
      kindOfPath(path) === "folder"
        ? folderBlobs(path)
        : await this.#archive(createReadStream(path, { highWaterMark: 1 << 18 }), folder, image, path);
    return readImage({ blobs, place: path, limits: this.#limits }, wanted);
  }

  #stored(key: string, image: string): Omit<LocalImage, "origin"> | undefined {
    const store = this.#openStore();
    const stored = store.find(key);
    if (!stored || !store.use(stored.digest)) return undefined;
    store.addKey(stored.digest, key, image);
    return { name: image, root: store.rootOf(stored.digest), config: stored.config };
  }

  /** Reads an image into the store, unless it is there already under another name. */
  async #unpacked(
    image: string,
    keys: readonly string[],
    read: (folder: string) => Promise<PackedImage>,
    origin = image,
  ): Promise<LocalImage> {
    const { signal, onProgress } = this.#options;
    const store = this.#openStore();
    const workspace = store.workspace();
    try {
      const blobs = join(workspace.folder, "blobs");
      const root = join(workspace.folder, "root");
      mkdirSync(blobs);
      mkdirSync(root, { mode: 0o755 });
      const { digest, config, layers } = await read(blobs);
      const name = digest.slice("sha256:".length);
      if (!store.has(name)) {
        let layer = 0;
        const unpacker = new Unpacker(root, {
          limits: this.#limits,
          signal,
          owners: process.getuid?.() === 0,
          onProgress: (bytes) =>
            onProgress?.(`${image}: unpacking`, `layer ${layer} of ${layers.length}, ${spellBytes(bytes)}`),
        });
        for (const one of layers) {
          layer++;
          await unpacker.layer(one);
        }
        store.keep(workspace.folder, root, {
          digest: name,
          name: image,
          keys,
          bytes: unpacker.bytes,
          config,
        });
      } else for (const key of keys) store.addKey(name, key, image);
      store.use(name);
      store.shrink();
      return { name: image, root: store.rootOf(name), config, origin };
    } finally {
      workspace.remove();
    }
  }

  #archive(
    source: ReturnType<typeof createReadStream> | ReturnType<typeof save>["archive"],
    folder: string,
    image: string,
    place: string,
  ): Promise<Blobs> {
    const { signal, onProgress } = this.#options;
    return archiveBlobs(source, folder, place, {
      limits: this.#limits,
      signal,
      onBytes: (bytes) => onProgress?.(`${image}: reading`, spellBytes(bytes)),
    });
  }

  async #inspect({ name, engine }: Extract<Source, { kind: "name" }>): Promise<Known | undefined> {
    const { signal, askEngines = true } = this.#options;
    if (!askEngines) return undefined;
    const asked = engine ? [engine] : engines;
    const key = `${engine ?? ""} ${name}`;
    const known = this.#known.get(key) ?? firstOf(asked, name, signal);
    this.#known.set(key, known);
    return known;
  }

  #openStore(): ImageStore {
    this.#store ??= (this.#options.store ?? (() => new ImageStore()))();
    return this.#store;
  }

  get #limits(): Limits {
    return this.#options.limits ?? usualLimits;
  }
}

/** What the first of them says that has the image: others may be asleep. */
async function firstOf(
  asked: readonly Engine[],
  name: string,
  signal: AbortSignal,
): Promise<Known | undefined> {
  const over = new AbortController();
  const none = new Error("has no such image");
  const answers = asked.map(async (engine) => {
    const known = await inspect(engine, name, AbortSignal.any([signal, over.signal]));
    if (!known) throw none;
    return known;
  });
  try {
    return await Promise.any(answers);
  } catch (error) {
    signal.throwIfAborted();
    const failure = (error as AggregateError).errors.find((one) => one !== none);
    if (failure !== undefined) throw failure as Error;
    return undefined;
  } finally {
    over.abort();
  }
}

/** Whether it is the folder of a root file system. @throws {ImageError} for one that is nothing at all. */
function isRoot(path: string): boolean {
  const has = (name: string): boolean => existsSync(join(path, name));
  if (kindOfPath(path) === "archive" || (has("index.json") && has("blobs"))) return false;
  if (path === "/" || !["bin", "usr", "etc", "app", "lib", "proc", "home"].some(has))
    throw unreadable(path, "is neither an OCI layout nor a root file system");
  // A container could make nothing in what belongs to nobody in its user namespace.
  const user = process.getuid?.();
  if (user !== 0 && statSync(path).uid !== user)
    throw new ImageError("LAMEDUCK_IMAGE_UNREADABLE", path, "belongs to another user", {
      remedy: "unpack it as yourself, or run as root",
    });
  return true;
}

function originOf({ engine, id }: Known): string {
  return `${engine} on this machine (${id.replace(/^(sha256:)?([0-9a-f]{12}).*/, "$2")})`;
}
