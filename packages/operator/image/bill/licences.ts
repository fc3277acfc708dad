import { ImageError } from "../built.ts";

/** What each package's copyright file says of the files that the image takes of it, as SPDX writes it. */
const debian: Readonly<Record<string, string>> = {
  iptables: "GPL-2.0-only AND GPL-2.0-or-later",
  libip4tc2: "GPL-2.0-only AND GPL-2.0-or-later",
  libip6tc2: "GPL-2.0-only AND GPL-2.0-or-later",
  libxtables12: "GPL-2.0-only AND GPL-2.0-or-later",
  nftables: "GPL-2.0-only AND GPL-2.0-or-later",
  libnftables1: "GPL-2.0-only AND GPL-2.0-or-later",
  libnftnl11: "GPL-2.0-only AND GPL-2.0-or-later",
  "libnetfilter-conntrack3": "GPL-2.0-or-later",
  libnfnetlink0: "GPL-2.0-or-later",
  libmnl0: "LGPL-2.1-or-later",
  libgmp10: "LGPL-3.0-or-later OR GPL-2.0-or-later",
  libbsd0: "Beerware AND BSD-2-Clause AND BSD-3-Clause AND ISC AND MIT",
  libmd0: "Beerware AND BSD-2-Clause AND BSD-3-Clause AND ISC",
  libedit2: "BSD-3-Clause",
  libjansson4: "MIT",
  libtinfo6: "BSD-3-Clause AND MIT AND X11",
  libc6: "LGPL-2.1-or-later",
  "libgcc-s1": "GPL-3.0-or-later WITH GCC-exception-3.1",
  "libstdc++6": "GPL-3.0-or-later WITH GCC-exception-3.1",
};

/** @throws {ImageError} for a package that nobody has looked at. */
export function licenceOf(debianPackage: string): string {
  // The same library, packed for cross compilers.
  const licence = debian[debianPackage.replace(/-(?:arm64|amd64)-cross$/, "")];
  if (licence !== undefined) return licence;
  throw new ImageError(
    `no licence is known for the package ${debianPackage}: give it a row in packages/operator/image/bill/licences.ts`,
  );
}

/** Node's own, and what its LICENSE lists of the parts that are linked into its binary. */
export const licenceOfNode =
  "Apache-2.0 AND BSD-2-Clause AND BSD-3-Clause AND ISC AND MIT AND Unicode-3.0 AND Zlib";

/** One expression for several: each once, in order. */
export function together(licences: Iterable<string>): string {
  const parts = new Set<string>();
  for (const one of licences)
    if (/ OR /.test(one)) parts.add(one.startsWith("(") ? one : `(${one})`);
    else for (const part of one.split(" AND ")) parts.add(part);
  return [...parts].sort().join(" AND ");
}
