import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { billOf, libcComponent, libcOf, npmComponent, type Component } from "../../../../scripts/sbom.ts";
import { ImageError } from "../built.ts";
import type { LayerFile } from "../oci/layer.ts";
import { distribution, ownersOf } from "./debian-owners.ts";
import { licenceOf, licenceOfNode, together } from "./licences.ts";

/** What is in the image of one processor. */
export interface Contents {
  readonly version: string;
  /** Files of Debian's packages. */
  readonly debian: readonly LayerFile[];
  readonly node: { readonly path: string; readonly version: string };
  /** Folders of the npm packages whose code the bundles have. */
  readonly npm: Iterable<string>;
  /** Each lameduck-init in the image. */
  readonly inits: readonly string[];
  /** The licence of Lameduck itself. */
  readonly own: string;
}

export interface Bill {
  /** CycloneDX, as JSON. */
  readonly text: string;
  /** Of everything in the image, as SPDX writes it. */
  readonly licence: string;
  /** The bill and all licences, as files of the image. */
  readonly files: readonly LayerFile[];
}

/** Where the image has its bill. */
export const billPath = "/usr/share/doc/lameduck/sbom.cdx.json";
const commonLicences = "/usr/share/common-licenses";
/** Also in the package of the init. */
const muslLicence = join(import.meta.dirname, "../../../init/LICENSE.musl");
const mode = 0o644;

/** @throws {ImageError} where a licence, or who made a file, is not known. */
export function describeContents({ version, debian, node, npm, inits, own }: Contents): Bill {
  const folders = [...npm].sort();
  // One program may have several names.
  const places = Map.groupBy(debian, ({ from = "" }) => from);
  const owners = ownersOf([...places.keys()]);
  const libcs = new Set(inits.map(libcOf));
  const components: Component[] = [
    ...owners.map(({ name, version: its, architecture, source, files }) => ({
      type: "library" as const,
      name,
      version: its,
      licence: licenceOf(name),
      purl: `pkg:deb/${distribution()}/${encodeURIComponent(name)}@${encodeURIComponent(its)}?arch=${architecture}&upstream=${encodeURIComponent(source)}`,
      locations: files.flatMap((file) => (places.get(file) ?? []).map(({ to }) => to)),
    })),
    {
      type: "application",
      name: "node",
      version: node.version,
      licence: licenceOfNode,
      purl: `pkg:generic/node@${node.version}`,
    },
    ...[...libcs].map(libcComponent),
    ...folders.map(npmComponent),
  ];
  const text = billOf({ type: "container", name: "lameduck", version, licence: own }, components);
  return {
    text,
    licence: together([own, ...components.map(({ licence }) => licence)]),
    files: [
      { to: billPath, mode, content: text },
      { to: "/usr/share/doc/lameduck/npm-licences.txt", mode, content: npmLicences(folders) },
      { to: "/usr/share/doc/node/LICENSE", mode, from: beside(node.path) },
      ...owners.map(({ name, copyright }) => ({
        to: `/usr/share/doc/${name}/copyright`,
        mode,
        from: copyright,
      })),
      ...namedIn(owners.map(({ copyright }) => copyright)),
      ...(libcs.has("musl") ? [{ to: "/usr/share/doc/musl/copyright", mode, from: muslLicence }] : []),
    ],
  };
}

function beside(node: string): string {
  const path = join(dirname(node), "..", "LICENSE");
  if (existsSync(path)) return path;
  throw new ImageError(`${path} is not here: the licence of Node`);
}

/** The texts that copyright files refer to in place of repeating them. */
function namedIn(copyrights: readonly string[]): LayerFile[] {
  const names = new Set<string>();
  for (const path of copyrights)
    for (const [, name = ""] of readFileSync(path, "utf8").matchAll(
      /\/usr\/share\/common-licenses\/([A-Za-z][A-Za-z0-9.-]*[A-Za-z0-9])/g,
    ))
      names.add(name);
  return [...names].sort().map((name) => {
    const from = join(commonLicences, name);
    if (existsSync(from)) return { to: from, from, mode };
    throw new ImageError(`${from} is not here; on Debian: apt-get install base-files`);
  });
}

/** The texts that npm packages bring, one after the other. */
function npmLicences(folders: readonly string[]): string {
  return folders
    .map((folder) => {
      const { group, name, version = "", licence } = npmComponent(folder);
      const files = readdirSync(folder).filter((file) => /^(?:licen[cs]e|copying|notice)/i.test(file));
      const texts = files.map((file) => readFileSync(join(folder, file), "utf8").trim());
      const head = `${group === undefined ? "" : `${group}/`}${name} ${version}: ${licence}`;
      return [head, "", ...(texts.length > 0 ? texts : ["The package has no text of it."]), ""].join("\n");
    })
    .join(`\n${"-".repeat(80)}\n\n`);
}
