/**
 * What a release consists of, made from this clone in one folder. Equal sources give equal bytes. The chart is the exception: Helm writes
 * the time into it.
 */
import { mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { chartDirectory } from "../../packages/operator/chart/digest.ts";
import { together } from "../../packages/operator/image/bill/licences.ts";
import { defaultRepository, writeOperatorImage } from "../../packages/operator/image/image.ts";
import { must } from "../must.ts";
import { folderOf, manifestOf, published, root, type Published } from "../pack/workspace.ts";
import { billOf, installedWith, libcComponent, libcOf, npmComponent, type Component } from "../sbom.ts";
import { sha256Of, writePlugin } from "./krew.ts";

export interface Artefact {
  readonly file: string;
  readonly what: string;
  /** Of the file, or of the image in it. */
  readonly digest: string;
  /** What is in it or comes with it, each under its licence. */
  readonly licences: string;
  /** More lines about it. */
  readonly about: readonly string[];
  /** Where it goes besides the page of the release. */
  readonly goesTo?: { readonly npm: string } | { readonly image: string } | { readonly chart: true };
}

interface Tarball {
  readonly name: string;
  readonly version: string;
  readonly filename: string;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string; readonly size: number }[];
}

const { version } = manifestOf(root);
const own = "Apache-2.0";

/** @throws {Error} where something is missing that it is made of. */
export async function makeArtefacts(folder: string, helm: string | undefined): Promise<Artefact[]> {
  must("npm", ["run", "-s", "build:init"], root);
  const packages = published.map((name) => packageIn(folder, name));
  const inits = (["x64", "arm64"] as const).map((one) => init(folder, one));
  const images = [await image(folder, false), await image(folder, true)];
  const charts = helm === undefined ? [] : [chart(folder, helm)];
  const plugin = await writePlugin(
    folder,
    packages.map(({ file }) => file),
  );
  const plugins = plugin.map((file) =>
    artefact(file, file.endsWith(".gz") ? "kubectl plugin" : "krew manifest", contentsOf("cli")),
  );
  const all = [...packages, ...inits, ...images, ...charts, ...plugins];
  const sums = all.map(({ file }) => `${sha256Of(file)}  ${basename(file)}\n`);
  writeFileSync(join(folder, "SHA256SUMS"), sums.join(""));
  return all;
}

function artefact(file: string, what: string, contents: readonly Component[]): Artefact {
  const licences = together([own, ...contents.map(({ licence }) => licence)]);
  return { file, what, digest: `sha256:${sha256Of(file)}`, licences, about: [] };
}

function packageIn(folder: string, name: Published): Artefact {
  const here = folderOf(name);
  const said = must("npm", ["pack", "--silent", "--json", "--pack-destination", folder], here);
  const [tarball] = JSON.parse(said.slice(said.indexOf("["))) as [Tarball];
  const contents = contentsOf(name);
  const file = join(folder, tarball.filename);
  writeFileSync(file.replace(/\.tgz$/, ".cdx.json"), billOf(npmComponent(here), contents));
  const with_ = contents.map(({ group, name: its, version: ofIt, licence }) =>
    [`${group === undefined ? "" : `${group}/`}${its}`, ofIt, `(${licence})`].filter(Boolean).join(" "),
  );
  return {
    ...artefact(file, `npm package ${tarball.name}`, contents),
    about: [...folders(tarball), `with ${with_.sort().join(", ") || "nothing of others"}`],
    goesTo: { npm: tarball.name },
  };
}

/** What a package brings that is not its own: what npm installs with it, and the C library in binaries. */
function contentsOf(name: Published): Component[] {
  const here = folderOf(name);
  const libcs = new Set(
    (name === "node" ? [] : (["x64", "arm64"] as const)).map((one) => libcOf(builtInit(one))),
  );
  return [...[...libcs].map(libcComponent), ...installedWith(here).map(npmComponent)];
}

const builtInit = (architecture: string): string =>
  join(folderOf("init"), "dist", `lameduck-init-${architecture}`);

/** One line for each folder at the top. */
function folders({ unpackedSize, files }: Tarball): string[] {
  const sums = new Map<string, { count: number; size: number }>();
  for (const { path, size } of files) {
    const [top = "", ...below] = path.split("/");
    const key = below.length > 0 ? `${top}/` : top;
    const sum = sums.get(key) ?? { count: 0, size: 0 };
    sums.set(key, { count: sum.count + 1, size: sum.size + size });
  }
  return [`${kilobytes(unpackedSize)} unpacked`].concat(
    [...sums].map(
      ([key, { count, size }]) =>
        `${key.padEnd(14)} ${`${count}`.padStart(4)} files ${kilobytes(size).padStart(9)}`,
    ),
  );
}

export function kilobytes(bytes: number): string {
  return `${(bytes / 1_000).toFixed(0)} kB`;
}

export const sizeOf = ({ file }: Artefact): number => statSync(file).size;

/** The binary that the package of the init has, for those without npm. */
function init(folder: string, architecture: "x64" | "arm64"): Artefact {
  const file = join(folder, `lameduck-init-${architecture}`);
  writeFileSync(file, readFileSync(builtInit(architecture)), { mode: 0o755 });
  return artefact(file, `binary for Linux, ${architecture}`, [libcComponent(libcOf(file))]);
}

async function image(folder: string, clouds: boolean): Promise<Artefact> {
  const file = join(folder, `lameduck-image${clouds ? "-clouds" : ""}-${version}.tar`);
  const { reference, digest, bills, licences } = await writeOperatorImage(file, { clouds });
  for (const [architecture, bill] of bills)
    writeFileSync(file.replace(/\.tar$/, `.${architecture}.cdx.json`), bill);
  return {
    file,
    what: `image ${reference}, ${[...bills.keys()].join(" and ")}`,
    digest,
    licences,
    about: [],
    goesTo: { image: reference },
  };
}

function chart(folder: string, helm: string): Artefact {
  must(helm, ["lint", "--strict", chartDirectory], root);
  // Helm gives it the name that npm gives the command's package.
  const apart = mkdtempSync(join(folder, "chart-"));
  must(helm, ["package", chartDirectory, "--destination", apart], root);
  const file = join(folder, `lameduck-chart-${version}.tgz`);
  renameSync(join(apart, `lameduck-${version}.tgz`), file);
  rmSync(apart, { recursive: true });
  return { ...artefact(file, `Helm chart, of the image ${defaultRepository}`, []), goesTo: { chart: true } };
}
