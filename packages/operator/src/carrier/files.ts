import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "@lameduck/drain/common";
import { OperatorError } from "../errors.ts";

/** What every injected namespace gets: base64 by key, and a sum that tells whether it is the same. */
export interface CarrierFiles {
  readonly binaryData: Readonly<Record<string, string>>;
  readonly sum: string;
}

/** The API server takes no ConfigMap with more, bytes. */
const mostBytes = 1024 * 1024;

/** The annotation of a carrier by which it is known as ours, and as the one that it should be. */
export const carrierSumAnnotation = "lameduck.dev/carrier-sum";

/** In any order: the sum is that of the files sorted by name. */
export function carrierFiles(files: readonly (readonly [name: string, bytes: Buffer])[]): CarrierFiles {
  const hash = createHash("sha256");
  const sorted = files.toSorted(([one], [other]) => (one < other ? -1 : 1));
  for (const [name, bytes] of sorted) hash.update(`${name}\0${bytes.length}\0`).update(bytes);
  return {
    binaryData: Object.fromEntries(sorted.map(([name, bytes]) => [name, bytes.toString("base64")])),
    sum: hash.digest("hex"),
  };
}

/** Each file of the folder. @throws {OperatorError} LAMEDUCK_OPERATOR_NO_CARRIER */
export async function readCarrier(directory: string): Promise<CarrierFiles> {
  const wrong = (problem: string): OperatorError =>
    new OperatorError("LAMEDUCK_OPERATOR_NO_CARRIER", directory, problem);
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    const names = entries.flatMap((entry) => (entry.isFile() ? [entry.name] : []));
    const files = await Promise.all(
      names.map(async (name) => [name, await readFile(join(directory, name))] as const),
    );
    if (files.length === 0) throw wrong("there is no file in it");
    const size = files.reduce((sum, [name, bytes]) => sum + name.length + bytes.length, 0);
    if (size > mostBytes) throw wrong(`${size} bytes are more than the ${mostBytes} of a ConfigMap`);
    return carrierFiles(files);
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw wrong(messageOf(error));
  }
}
