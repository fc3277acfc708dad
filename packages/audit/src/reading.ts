import { readStream, type Field, type ManifestError, type Stream } from "@lameduck/manifests";
import type { Images } from "./model/images.ts";
import { inventoryOf, type Inventory } from "./model/inventory.ts";
import { isAuditedKind } from "./model/object.ts";

/** One file of the input, or what stands for one. */
export interface InputFile {
  readonly name: string;
  readonly text: string;
  /** Found in a folder, where other YAML may stand beside manifests. */
  readonly isFound?: boolean;
}

interface ReadFiles {
  readonly inventory: Inventory;
  /** All that was looked into, in its order. */
  readonly objects: readonly Field[];
  readonly failures: readonly ManifestError[];
}

interface ReadingOptions {
  readonly images: Images;
  /** A kind that is looked into besides those of the audit. */
  readonly also?: string;
  /** Files that were read before, and have not changed since. */
  readonly known?: WeakMap<InputFile, Stream>;
}

/** Everything that stands in the files, one file a step. */
export function* readInSteps(
  files: readonly InputFile[],
  { images, also, known }: ReadingOptions,
): Generator<void, ReadFiles> {
  const isWanted = (kind: string): boolean => isAuditedKind(kind) || kind === also;
  const streams: Stream[] = [];
  for (const file of files) {
    const stream = known?.get(file) ?? readStream(file.text, file.name, isWanted, file.isFound);
    known?.set(file, stream);
    streams.push(stream);
    yield;
  }
  const objects = streams.flatMap((one) => one.objects);
  const read = inventoryOf(objects, images);
  return {
    objects,
    inventory: {
      ...read,
      skipped: summed([read, ...streams].map(({ skipped }) => skipped)),
      unread: summed([read, ...streams].map(({ unread }) => unread)),
    },
    failures: [...streams.flatMap(({ failures }) => failures), ...read.failures],
  };
}

export function inOneGo<T>(steps: Generator<void, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

function summed(all: readonly ReadonlyMap<string, number>[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const [kind, count] of all.flatMap((one) => [...one])) sums.set(kind, (sums.get(kind) ?? 0) + count);
  return sums;
}
