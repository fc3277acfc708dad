/**
 * `npm run metadata` copies what the root's package.json says of the whole project:
 *
 * - version, homepage and repository go into the published packages,
 * - the image's address goes into the command's package and the chart,
 * - the version goes into the commands and outputs that pages show.
 *
 * `npm run render` then writes docs/install.yaml and its variants. `--check` only compares. It exits with 1 where something differs.
 */
import { globSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
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

/** Where releases go besides npm: the image's repository in a registry, and the folder of the chart there. */
export interface Addresses {
  readonly image: string;
  readonly charts: string;
}

const common = JSON.parse(read(join(root, "package.json"))) as Manifest & { addresses: Addresses };

function read(file: string): string {
  return readFileSync(file, "utf8");
}

function withMetadata(manifest: Manifest, name: string): Manifest {
  const { version, license, homepage, repository, addresses } = common;
  const changed = {
    ...manifest,
    version,
    license,
    homepage,
    repository: { ...repository, directory: `packages/${name}` },
    // npm signs from which commit and workflow a package comes. Nothing else than a workflow can publish it then.
    publishConfig: { access: "public", provenance: true },
    engines: { node },
    ...(name === "cli" ? { image: addresses.image } : {}),
  };
  if (manifest.dependencies === undefined) return changed;
  // The three are released together, and fit only each other.
  const dependencies = Object.entries(manifest.dependencies).map(
    ([one, range]) => [one, one.startsWith("@lameduck/") ? version : range] as const,
  );
  return { ...changed, dependencies: Object.fromEntries(dependencies) };
}

function write(file: string, text: string): void {
  writeMade(file, text, `${relative(root, file)} differs from the root's package.json: run npm run metadata`);
}

for (const name of published) {
  const file = join(folderOf(name), "package.json");
  const manifest = withMetadata(JSON.parse(read(file)) as Manifest, name);
  write(file, `${JSON.stringify(manifest, undefined, 2)}\n`);
}

/** Values of lines in the chart's files, whose comments stay. */
const chart: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "Chart.yaml": { version: common.version, appVersion: common.version, home: common.homepage },
  "values.yaml": { "  repository": common.addresses.image },
};
for (const [name, values] of Object.entries(chart)) {
  const file = join(folderOf("operator"), "chart/lameduck", name);
  let text = read(file);
  for (const [key, value] of Object.entries(values))
    text = text.replace(new RegExp(`^(${key}: ).*$`, "m"), (_, start: string) => `${start}${value}`);
  write(file, text);
}

/** As in lameduck:0.1.0 of an image, lameduck@v0.1.0 of an action, and rev: v0.1.0 of a hook. */
const shownVersion = /(\blameduck:|\blameduck@v|\brev: v)\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?/g;
for (const page of globSync("docs/{operate,start,tools}/*.md", { cwd: root })) {
  const file = join(root, page);
  write(
    file,
    read(file).replace(shownVersion, (_, start: string) => `${start}${common.version}`),
  );
}
