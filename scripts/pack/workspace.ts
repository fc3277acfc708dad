/** The packages of this repository: three are published, the others go inside them. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** Folders below `packages`, in their order: a package imports only those before it. */
export const order = [
  "options",
  "drain",
  "protocol",
  "node",
  "init",
  "kube",
  "manifests",
  "senders",
  "program",
  "accounting",
  "load",
  "images",
  "stage",
  "rollout",
  "simulator",
  "audit",
  "cluster",
  "inject",
  "webhook",
  "coordinator",
  "watcher",
  "operator",
  "cli",
] as const;

/** Folders below `packages`, in the order in which they are published: what others depend on comes first. */
export const published = ["init", "node", "cli"] as const;

export type Published = (typeof published)[number];

/** What the command does not carry: what is published by itself, and what only programs of a cluster are made of. */
const notInCli: readonly string[] = [...published, "program", "watcher"];

/** What each of them carries inside. */
export const inside: Readonly<Record<Published, readonly string[]>> = {
  init: [],
  node: ["options", "drain", "protocol"],
  cli: order.filter((name) => !notInCli.includes(name)),
};

export interface PackageJson {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly description?: string;
  readonly homepage?: string;
  readonly license?: string;
  readonly repository?: { readonly url: string };
  readonly engines?: { readonly node: string };
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

export const folderOf = (name: string): string => join(root, "packages", name);

export function manifestOf(folder: string): PackageJson {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as PackageJson;
}

/** A file of `dist` without a source is left over from an earlier build. */
export function hasSource(folder: string, file: string): boolean {
  const source = file.replace(/\.(js|d\.ts)(\.map)?$/, ".ts");
  return ["src", "toolchain"].some((sources) => existsSync(join(folder, sources, source)));
}

/** The file of `dist` that `@lameduck/NAME` or `@lameduck/NAME/SUBPATH` means. */
export function entryOf(name: string, subpath: string): string {
  const entry = manifestOf(folderOf(name)).exports?.[`.${subpath}`] as { default?: string } | undefined;
  if (entry?.default === undefined) throw new Error(`packages/${name} does not export .${subpath}`);
  return entry.default.replace(/^\.\/dist\//, "");
}
