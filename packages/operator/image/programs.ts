import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { debianPackages } from "./debian.ts";
import { ImageError, type Processor } from "./built.ts";
import { triplets } from "./libraries.ts";
import type { LayerFile } from "./oci/layer.ts";

/** What the watcher of a node runs to read its rules. The names of iptables are links to one file for each kind of tables. */
const programs = {
  "iptables-legacy-save": "xtables-legacy-multi",
  "ip6tables-legacy-save": "xtables-legacy-multi",
  "iptables-nft-save": "xtables-nft-multi",
  "ip6tables-nft-save": "xtables-nft-multi",
  nft: "nft",
} as const;

const packages =
  "iptables nftables libbsd0 libedit2 libgmp10 libip4tc2 libip6tc2 libjansson4 libmd0 libmnl0 libnetfilter-conntrack3 libnfnetlink0 libnftables1 libnftnl11 libtinfo6 libxtables12".split(
    " ",
  );

/** What they are linked with (`ldd`), but for the libraries that Node brings. */
const needed = [
  "libbsd.so.0",
  "libedit.so.2",
  "libgmp.so.10",
  "libip4tc.so.2",
  "libip6tc.so.2",
  "libjansson.so.4",
  "libmd.so.0",
  "libmnl.so.0",
  "libnfnetlink.so.0",
  "libnetfilter_conntrack.so.3",
  "libnftables.so.1",
  "libnftnl.so.11",
  "libtinfo.so.6",
  "libxtables.so.12",
] as const;

/** iptables, nftables and their libraries of Debian: this machine's own, or fetched for another processor. @throws {ImageError} */
export async function programsFor(processor: Processor): Promise<LayerFile[]> {
  const root =
    processor === process.arch
      ? "/"
      : await debianPackages(processor === "x64" ? "amd64" : "arm64", packages);
  const triplet = triplets[processor];
  const libraries = [`lib/${triplet}`, `usr/lib/${triplet}`];
  const find = (name: string, folders: readonly string[]): string => {
    const found = folders.map((folder) => join(root, folder, name)).find((path) => existsSync(path));
    if (found !== undefined) return found;
    throw new ImageError(
      `${name} for ${processor} is not here; on Debian: apt-get install iptables nftables`,
    );
  };
  const extensions = find("xtables", libraries);
  const mode = 0o644;
  return [
    ...Object.entries(programs).map(([name, file]) => ({
      to: `/usr/sbin/${name}`,
      from: find(file, ["usr/sbin", "sbin"]),
    })),
    ...needed.map((name) => ({ to: `/lib/${triplet}/${name}`, from: find(name, libraries), mode })),
    // Each match and target of a rule is written by one of these.
    ...readdirSync(extensions)
      .sort()
      .map((name) => ({ to: `/usr/lib/${triplet}/xtables/${name}`, from: join(extensions, name), mode })),
  ];
}
