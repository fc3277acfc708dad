import { existsSync } from "node:fs";
import { join } from "node:path";
import { ImageError, type Processor } from "./built.ts";
import type { LayerFile } from "./oci/layer.ts";

/** What Node's binary for Linux is linked with (`readelf -d`), all of them from libc6, libgcc-s1 and libstdc++6. */
const needed = [
  "libc.so.6",
  "libdl.so.2",
  "libgcc_s.so.1",
  "libm.so.6",
  "libpthread.so.0",
  "libstdc++.so.6",
] as const;

/** Debian's names of the folders of a processor's libraries. */
export const triplets: Readonly<Record<Processor, string>> = {
  x64: "x86_64-linux-gnu",
  arm64: "aarch64-linux-gnu",
};

interface Origin {
  readonly loader: string;
  /** Where they lie: on a machine of that processor, or as Debian's packages for cross compilers bring them. */
  readonly directories: readonly string[];
  readonly packages: string;
}

const origins: Readonly<Record<Processor, Origin>> = {
  x64: {
    loader: "/lib64/ld-linux-x86-64.so.2",
    directories: ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/usr/x86_64-linux-gnu/lib"],
    packages: "libc6 libgcc-s1 libstdc++6",
  },
  arm64: {
    loader: "/lib/ld-linux-aarch64.so.1",
    directories: ["/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/aarch64-linux-gnu/lib"],
    packages: "libc6-arm64-cross libgcc-s1-arm64-cross libstdc++6-arm64-cross",
  },
};

/** The libraries of Debian that Node needs, and the loader at the path that its binary names. @throws {ImageError} */
export function librariesFor(processor: Processor): LayerFile[] {
  const { loader, directories, packages } = origins[processor];
  const find = (name: string): string => {
    const found = directories.map((directory) => join(directory, name)).find((path) => existsSync(path));
    if (found !== undefined) return found;
    throw new ImageError(`${name} for ${processor} is not here; on Debian: apt-get install ${packages}`);
  };
  return [
    { to: loader, from: find(loader.slice(loader.lastIndexOf("/") + 1)) },
    ...needed.map((name) => ({ to: `/lib/${triplets[processor]}/${name}`, from: find(name), mode: 0o644 })),
  ];
}
