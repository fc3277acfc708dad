/**
 * `npm run metadata` gives the published packages what the root's package.json says of them all: version, homepage and repository, and
 * the Node that they need. `--check` only compares, and exits with 1 where they differ.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { writeMade } from "../format-page.ts";
import { folderOf, published, root } from "../pack/workspace.ts";

/** Commander's own demand, and the first Node whose require() takes ES modules. A proxy needs 22.21 or 24.5: an error says so. */
const node = ">=22.12.0";

interface Manifest {
  readonly version: string;
  readonly license: string;
  readonly homepage: string;
  readonly repository: { readonly type: string; readonly url: string };
  readonly dependencies?: Record<string, string>;
}

const common = read(join(root, "package.json"));

function read(file: string): Manifest {
  return JSON.parse(readFileSync(file, "utf8")) as Manifest;
}

function withMetadata(manifest: Manifest, name: string): Manifest {
  const { version, license, homepage, repository } = common;
  const changed = {
    ...manifest,
    version,
    license,
    homepage,
    repository: { ...repository, directory: `packages/${name}` },
    publishConfig: { access: "public" },
    engines: { node },
  };
  if (manifest.dependencies === undefined) return changed;
  // The three are released together, and fit only each other.
  const dependencies = Object.entries(manifest.dependencies).map(
    ([one, range]) => [one, one.startsWith("@lameduck/") ? version : range] as const,
  );
  return { ...changed, dependencies: Object.fromEntries(dependencies) };
}

for (const name of published) {
  const file = join(folderOf(name), "package.json");
  const text = `${JSON.stringify(withMetadata(read(file), name), undefined, 2)}\n`;
  const different = `packages/${name}/package.json differs from the root's package.json: run npm run metadata`;
  writeMade(file, text, different);
}
