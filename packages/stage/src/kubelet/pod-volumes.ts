import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { ContainerTemplate } from "@lameduck/manifests";
import type { Bind } from "../network/network.ts";

/** Beside the volumes, under a name that no volume can have. */
const temporaryFiles = ".tmp";

/** The directories of a pod's emptyDir volumes, and one for its temporary files. */
export class PodVolumes {
  readonly #directory: string;
  readonly #names: readonly string[];

  constructor(directory: string, emptyDirs: readonly string[]) {
    this.#directory = directory;
    this.#names = [...emptyDirs, temporaryFiles];
  }

  get temporary(): string {
    return this.#of(temporaryFiles);
  }

  make(): void {
    for (const name of this.#names) {
      mkdirSync(this.#of(name), { recursive: true });
      // As an emptyDir: containers may run as any user.
      chmodSync(this.#of(name), 0o777);
    }
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  binds(mounts: ContainerTemplate["mounts"]): Bind[] {
    return [
      // Also under its own path: a container with a root of its own does not see the machine's directories.
      { from: this.#directory, to: this.#directory },
      ...mounts.map(({ volume, path }) => ({ from: this.#of(volume), to: path })),
    ];
  }

  #of(name: string): string {
    return join(this.#directory, name);
  }
}
