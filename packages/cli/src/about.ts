import { existsSync, readFileSync } from "node:fs";

interface PackageJson {
  readonly version: string;
  readonly homepage: string;
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

function pageAt(name: string): URL {
  const packed = new URL(`../docs/${name}`, import.meta.url);
  return existsSync(packed) ? packed : new URL(`../../../docs/${name}`, import.meta.url);
}

/** Pages are named as in the repository; who has installed the package finds them at its homepage. */
export function withAddresses(text: string): string {
  if (!text.includes("docs/")) return text;
  const { homepage } = packageJson();
  return text.replace(
    /(?<![\w/])docs\/(?=(?:[\w-]+\/)?[\w-]+\.md\b)/g,
    () => new URL("docs/", homepage).href,
  );
}
