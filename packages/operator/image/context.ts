import { chmod, copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describedImage, ownPart, type ImageOptions } from "./image.ts";
import type { LayerFile } from "./oci/layer.ts";

/** Writes what Docker, Podman and buildah build the image from, on a base that brings what Node and the watcher are linked with. */
export async function writeContext(
  directory: string,
  { clouds = false }: Pick<ImageOptions, "clouds"> = {},
): Promise<void> {
  await mkdir(directory, { recursive: true });
  const { processors, labels } = describedImage();
  for (const [processor, architecture] of processors) {
    const { files } = await ownPart(processor, { clouds });
    // The base has its own users.
    for (const file of files)
      if (!file.to.startsWith("/etc/")) await place(file, join(directory, architecture, file.to));
  }
  const lines = Object.entries(labels).map(([name, value]) => `LABEL ${name}=${JSON.stringify(value)}\n`);
  const dockerfile = await readFile(join(import.meta.dirname, "Dockerfile"), "utf8");
  await writeFile(join(directory, "Dockerfile"), dockerfile + lines.join(""));
}

async function place({ from, content = "", mode = 0o755 }: LayerFile, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await (from === undefined ? writeFile(to, content) : copyFile(from, to));
  await chmod(to, mode);
}
