/** Bills of materials in CycloneDX's JSON, of the container image and of the packages. Equal content gives equal bytes: no time, no number of its own. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { manifestOf } from "./pack/workspace.ts";

export interface Component {
  readonly type: "library" | "application" | "container";
  readonly group?: string;
  readonly name: string;
  readonly version?: string;
  /** An SPDX expression. */
  readonly licence: string;
  /** What scanners look it up by. */
  readonly purl?: string;
  readonly locations?: readonly string[];
}

/** In the order of their names, each once. */
export function billOf(described: Component, components: readonly Component[]): string {
  const byReference = new Map(components.map((one) => [referenceOf(one), one]));
  const sorted = [...byReference].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, one]) => one);
  const bill = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: entryOf(described) },
    components: sorted.map(entryOf),
    dependencies: [{ ref: referenceOf(described), dependsOn: sorted.map(referenceOf) }],
  };
  return `${JSON.stringify(bill, undefined, 2)}\n`;
}

function referenceOf({ name, version, purl }: Component): string {
  return purl ?? (version === undefined ? name : `${name}@${version}`);
}

function entryOf(component: Component): object {
  const { type, group, name, version, licence, purl, locations } = component;
  return {
    type,
    "bom-ref": referenceOf(component),
    ...(group === undefined ? {} : { group }),
    name,
    ...(version === undefined ? {} : { version }),
    licenses: [{ expression: licence }],
    ...(purl === undefined ? {} : { purl }),
    ...(locations === undefined
      ? {}
      : { evidence: { occurrences: locations.map((location) => ({ location })) } }),
  };
}

/** A package of npm's, from the folder that it is installed in. @throws {Error} where it names no licence. */
export function npmComponent(folder: string): Component {
  const { name: whole, version, license: licence } = manifestOf(folder);
  if (typeof licence !== "string") throw new Error(`${folder}/package.json names no licence`);
  const [name = "", scope] = whole.split("/").reverse();
  return {
    type: "library",
    ...(scope === undefined ? {} : { group: scope }),
    name,
    version,
    licence,
    purl: `pkg:npm/${scope === undefined ? "" : `${encodeURIComponent(scope)}/`}${name}@${version}`,
  };
}

/** The folders of everything that npm installs with a package, as they are installed here. @throws {Error} where one is not. */
export function installedWith(folder: string): string[] {
  const found = new Set<string>();
  const visit = (within: string): void => {
    for (const name of Object.keys(manifestOf(within).dependencies ?? {})) {
      const one = resolved(name, within);
      if (found.has(one)) continue;
      found.add(one);
      visit(one);
    }
  };
  visit(folder);
  return [...found];
}

/** Where Node would find it. */
function resolved(name: string, within: string): string {
  for (let folder = within; ; folder = dirname(folder)) {
    const candidate = join(folder, "node_modules", name);
    if (existsSync(join(candidate, "package.json"))) return candidate;
    if (folder === dirname(folder))
      throw new Error(`${name}, which ${within} needs, is not installed: npm ci`);
  }
}

/** lameduck-init is linked with one of both, whole. */
const licenceOfLibc = { musl: "MIT", glibc: "LGPL-2.1-or-later" } as const;

/** The static glibc names itself in its own messages; musl does not. */
export function libcOf(init: string): keyof typeof licenceOfLibc {
  return readFileSync(init).includes("Fatal glibc error") ? "glibc" : "musl";
}

/** No binary says of which version its C library is. */
export function libcComponent(name: keyof typeof licenceOfLibc): Component {
  return { type: "library", name, licence: licenceOfLibc[name] };
}
