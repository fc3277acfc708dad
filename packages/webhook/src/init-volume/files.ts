import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "@lameduck/drain/common";
import { OperatorError } from "@lameduck/protocol";
import { initVolumeKeys, architectures, type Architecture } from "@lameduck/inject";

/** Its key in the ConfigMap, and what it holds. */
type InitVolumeFile = readonly [name: string, bytes: Buffer];

/** What every injected namespace gets: base64 by key, and a sum that tells whether it is the same. */
export interface InitVolumeFiles {
  readonly binaryData: Readonly<Record<string, string>>;
  readonly sum: string;
}

/** The API server takes no ConfigMap with more, bytes. */
const mostBytes = 1024 * 1024;

/** The annotation of an init volume by which it is known as ours, and as the one that it should be. */
export const initVolumeSumAnnotation = "lameduck.dev/init-volume-sum";

/** In any order: the sum is that of the files sorted by name. */
export function initVolumeFiles(files: readonly InitVolumeFile[]): InitVolumeFiles {
  const hash = createHash("sha256");
  const sorted = files.toSorted(([one], [other]) => (one < other ? -1 : 1));
  for (const [name, bytes] of sorted) hash.update(`${name}\0${bytes.length}\0`).update(bytes);
  return {
    binaryData: Object.fromEntries(sorted.map(([name, bytes]) => [name, bytes.toString("base64")])),
    sum: hash.digest("hex"),
  };
}

/** All files that there are: of each cluster only those that its nodes need are stored, since every namespace has a copy. */
export class InitVolumeSource {
  readonly #files: readonly InitVolumeFile[];
  readonly #made = new Map<string, InitVolumeFiles>();

  constructor(files: readonly InitVolumeFile[]) {
    this.#files = files;
  }

  /** @param needed processors of the nodes; all where nobody knows them. */
  of(needed: Iterable<Architecture> | undefined): InitVolumeFiles {
    const wanted = new Set(needed ?? architectures);
    const left = architectures.filter((one) => !wanted.has(one)).map((one) => initVolumeKeys[one]);
    const key = left.join(" ");
    const made = this.#made.get(key) ?? initVolumeFiles(this.#files.filter(([name]) => !left.includes(name)));
    this.#made.set(key, made);
    return made;
  }
}

/** Each file of the folder. @throws {OperatorError} LAMEDUCK_OPERATOR_NO_INIT_VOLUME */
export async function readInitVolume(directory: string): Promise<InitVolumeSource> {
  const wrong = (problem: string): OperatorError =>
    new OperatorError("LAMEDUCK_OPERATOR_NO_INIT_VOLUME", directory, problem);
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    const names = entries.flatMap((entry) => (entry.isFile() ? [entry.name] : []));
    const files = await Promise.all(
      names.map(async (name) => [name, await readFile(join(directory, name))] as const),
    );
    if (files.length === 0) throw wrong("there is no file in it");
    const size = files.reduce((sum, [name, bytes]) => sum + name.length + bytes.length, 0);
    if (size > mostBytes) throw wrong(`${size} bytes are more than the ${mostBytes} of a ConfigMap`);
    return new InitVolumeSource(files);
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw wrong(messageOf(error));
  }
}

/** So long a processor counts after its last node has gone: an autoscaler may bring the next one within minutes. */
const keptForMs = 3_600_000;

/** The processors that there is a node of, or was a moment ago. */
export class NeededArchitectures {
  readonly #seenAt = new Map<Architecture, number>();

  /** @param now by any clock that never jumps. @returns undefined where nobody knows the nodes. */
  of(known: readonly Architecture[] | undefined, now: number): readonly Architecture[] | undefined {
    if (known === undefined) return undefined;
    for (const one of known) this.#seenAt.set(one, now);
    return [...this.#seenAt].flatMap(([one, at]) => (now - at < keptForMs ? [one] : []));
  }
}
