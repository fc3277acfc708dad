import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { ContainerTemplate } from "@lameduck/manifests";
import type { Bind } from "../network/network.ts";

/** Beside the volumes, under a name that no volume can have. */
const temporaryFiles = ".tmp";

/** The directories of a pod's emptyDir volumes, and one for its temporary files. */
export function podVolumes(directory: string, emptyDirs: readonly string[]) {
  const temporary = join(directory, temporaryFiles);
  return {
    temporary,
    make: (): void => {
      for (const path of [...emptyDirs.map((name) => join(directory, name)), temporary]) {
        mkdirSync(path, { recursive: true });
        // As an emptyDir: containers may run as any user.
        chmodSync(path, 0o777);
      }
    },
    remove: (): void => rmSync(directory, { recursive: true, force: true }),
    binds: (mounts: ContainerTemplate["mounts"]): Bind[] => [
      // Also under its own path: a container with a root of its own does not see the machine's directories.
      { from: directory, to: directory },
      ...mounts.map(({ volume, path }) => ({ from: join(directory, volume), to: path })),
    ],
  };
}
