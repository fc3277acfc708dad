import { existsSync, readdirSync, readFileSync } from "node:fs";

interface PackageJson {
  readonly version: string;
  readonly homepage: string;
  readonly image: string;
}

function packageJson(): PackageJson {
  return JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as PackageJson;
}

export function version(): string {
  return packageJson().version;
}

/** The text of a page. It is in the package, and in a clone in the root of the repository. */
export function pageText(name: string): string {
  return readFileSync(pageAt(name), "utf8");
}

export function hasPage(name: string): boolean {
  return existsSync(pageAt(name));
}

/** The names of the pages in a folder, without ".md". */
export function pagesIn(folder: string): string[] {
  return readdirSync(pageAt(folder))
    .flatMap((file) => /^(.*)\.md$/.exec(file)?.[1] ?? [])
    .sort();
}

/** The names of all pages, as for `pageText`. */
export function pages(): string[] {
  const files = readdirSync(pageAt(""), { recursive: true, encoding: "utf8" });
  return files.map((file) => file.replaceAll("\\", "/")).filter((file) => file.endsWith(".md"));
}

function pageAt(name: string): URL {
  const packed = new URL(`../docs/${name}`, import.meta.url);
  return existsSync(packed) ? packed : new URL(`../../../docs/${name}`, import.meta.url);
}

/**
 * Texts name pages as the repository does. The homepage has them, and `lameduck help PAGE` prints them. Links are relative to `page`, which is
 * named as for `pageText`.
 */
export function withAddresses(text: string, page = ""): string {
  const named = text.replace(
    /\[([^\]]+)\]\(((?:\.\.\/|[\w-]+\/)*[\w-]+\.md(?:#[\w-]+)?)\)/g,
    (_, words: string, link: string) => `${words} (${pathOf(new URL(link, `file:///docs/${page}`))})`,
  );
  const home = named.includes("docs/") ? homepage() : undefined;
  if (home === undefined) return named;
  return named.replace(/(?<![\w/])docs\/(?=(?:[\w-]+\/)?[\w-]+\.md\b)/g, () => new URL("docs/", home).href);
}

/** The address of a page; undefined as long as there is no homepage. */
export function addressOf(page: string): string | undefined {
  const home = homepage();
  return home && new URL(page, home).href;
}

/** Names that end in .example lead nowhere (RFC 2606). */
const leadsNowhere = (host: string): boolean => host.endsWith(".example");

function homepage(): string | undefined {
  const { homepage: address } = packageJson();
  return leadsNowhere(new URL(address).hostname) ? undefined : address;
}

const pathOf = ({ pathname, hash }: URL): string => pathname.slice(1) + hash;

/** Of the operator's image, as the chart has it. */
export function imageRepository(): string {
  return packageJson().image;
}

/** The operator's image of this release, as the chart has it. */
export function defaultImage(): string {
  return `${imageRepository()}:${version()}`;
}

/** What can be pulled nowhere as long as nothing is published. */
export function isPublished(image: string): boolean {
  return !leadsNowhere(image.split("/", 1)[0] ?? "");
}

/** What stands for an image that a user has built. */
export function ownImage(): string {
  return `REGISTRY/lameduck:${version()}`;
}

export const howToBuildImage =
  "build it in a clone (`npm run build:init && npm run image -- lameduck.tar`), push it to a registry of yours, and name it by --image";
