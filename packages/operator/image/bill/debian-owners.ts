import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { ImageError } from "../built.ts";
import { fetchedList, type DebianPackage } from "../debian.ts";

export interface Owned extends DebianPackage {
  /** Its files among those that were asked about. */
  readonly files: readonly string[];
  /** The file with its licences. */
  readonly copyright: string;
}

/** Which packages of Debian files belong to: of this machine, or of those that were fetched. @throws {ImageError} where one belongs to none. */
export function ownersOf(files: readonly string[]): Owned[] {
  const owners = new Map<string, { described: DebianPackage; root: string; files: string[] }>();
  const add = (described: DebianPackage, root: string, file: string): void => {
    const key = `${described.name} ${described.architecture}`;
    const known = owners.get(key) ?? { described, root, files: [] };
    owners.set(key, known);
    known.files.push(file);
  };
  const own: string[] = [];
  for (const file of files) {
    const fetched = fetchedList(file);
    if (fetched === undefined) {
      own.push(file);
      continue;
    }
    const { root, packages } = fetched;
    const names = namesOf(file.slice(root.length), realpathSync(file).slice(root.length));
    const owner = packages.find((one) => names.some((name) => one.files.includes(name)));
    if (owner === undefined) throw new ImageError(`no package that was fetched has ${file}`);
    add(owner, root, file);
  }
  const installed = ownersHere(own);
  const described = describedHere([...new Set(installed.values())]);
  for (const [file, name] of installed) {
    const one = described.get(name);
    if (one !== undefined) add(one, "/", file);
  }
  return [...owners.values()].map(({ described: one, root, files: its }) => {
    const copyright = join(root, "usr/share/doc", one.name, "copyright");
    if (!existsSync(copyright)) throw new ImageError(`${copyright} is not here: the licence of ${one.name}`);
    return { ...one, files: its, copyright };
  });
}

/** dpkg knows a file by one of these: /lib may be a link to /usr/lib, and a library's name one to its version. */
function namesOf(...paths: readonly string[]): string[] {
  return paths.flatMap((path) => [
    path,
    path.replace(/^\/usr\//, "/"),
    path.replace(/^\/(?!usr\/)/, "/usr/"),
  ]);
}

function ownersHere(files: readonly string[]): Map<string, string> {
  if (files.length === 0) return new Map();
  const names = new Map(files.map((file) => [file, namesOf(file, realpathSync(file))]));
  // Its exit code is 1, because it knows some names of each file only.
  const { stdout, error } = spawnSync("dpkg-query", ["-S", ...[...names.values()].flat()], {
    encoding: "utf8",
  });
  if (error !== undefined)
    throw new ImageError("dpkg-query is not here: who made the libraries is not known");
  const known = new Map<string, string>();
  for (const [, packages = "", path = ""] of stdout.matchAll(
    /^(?!diversion)([^:\n]+(?::\w+)?(?:, \S+)*): (.+)$/gm,
  ))
    known.set(path, packages.split(", ")[0] ?? "");
  return new Map(
    [...names].map(([file, candidates]) => {
      const name = candidates.map((one) => known.get(one)).find((one) => one !== undefined);
      if (name === undefined) throw new ImageError(`${file} belongs to no package of this machine`);
      return [file, name];
    }),
  );
}

function describedHere(names: readonly string[]): Map<string, DebianPackage> {
  if (names.length === 0) return new Map();
  const format = "${Package}\\t${binary:Package}\\t${Version}\\t${Architecture}\\t${source:Package}\\n";
  const text = execFileSync("dpkg-query", ["-W", "-f", format, ...names], { encoding: "utf8" });
  const all = new Map<string, DebianPackage>();
  for (const line of text.trimEnd().split("\n")) {
    const [name = "", qualified = "", version = "", architecture = "", source = ""] = line.split("\t");
    const one = { name, version, architecture, source };
    for (const key of [qualified, name, `${name}:${architecture}`]) all.set(key, one);
  }
  return all;
}

/** The distribution that this machine's packages come from, as package URLs name it. */
export function distribution(): string {
  const file = "/etc/os-release";
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  return /^ID="?([a-z0-9._-]+)/m.exec(text)?.[1] ?? "debian";
}
