import { readFile, realpath } from "node:fs/promises";
import { dirname } from "node:path";
import { TarWriter } from "./tar.ts";

export interface LayerFile {
  /** Path in the image. */
  readonly to: string;
  /** A file of this machine, */
  readonly from?: string;
  /** or its content. */
  readonly content?: string;
  readonly mode?: number;
}

export interface Layer {
  readonly files: readonly LayerFile[];
  /** Empty directories, made with mode 1777: for programs that write without being root. */
  readonly writable?: readonly string[];
}

export interface WrittenLayer {
  readonly path: string;
  readonly digest: string;
  readonly size: number;
}

/** The layer as a tar file. Of several files with the same path the first is taken. */
export async function writeLayer(layer: Layer, path: string): Promise<WrittenLayer> {
  const tar = await TarWriter.create(path);
  const written = new Set<string>(["/"]);
  const addDirectory = async (directory: string, mode: number): Promise<void> => {
    if (written.has(directory)) return;
    await addDirectory(dirname(directory), 0o755);
    written.add(directory);
    await tar.add({ path: directory.slice(1), mode, type: "directory" });
  };
  for (const directory of layer.writable ?? []) await addDirectory(directory, 0o1777);
  for (const file of layer.files) {
    if (written.has(file.to)) continue;
    await addDirectory(dirname(file.to), 0o755);
    written.add(file.to);
    const mode = file.mode ?? 0o755;
    const content =
      file.from === undefined ? Buffer.from(file.content ?? "") : await readFile(await realpath(file.from));
    await tar.add({ path: file.to.slice(1), mode, content });
  }
  const digest = await tar.end();
  return { digest, size: tar.size, path };
}
