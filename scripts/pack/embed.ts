/** Makes a package's `dist` whole: private packages inside, imports of them relative, sources in the source maps. */
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix, relative, resolve } from "node:path";
import { entryOf, folderOf, hasSource, inside, manifestOf, type Published } from "./workspace.ts";

const imports = /(\bfrom\s*|\bimport\s*\(?\s*)(["'])@lameduck\/([\w-]+)((?:\/[\w.-]+)*)\2/g;

const relativeImports = /^(?:import\s*|(?:import|export)\b[\w$\s{},*]*\bfrom\s*)["'](\.[^"']*)["']/gm;

const bareImports = /^(?:import\s*|(?:import|export)\b[\w$\s{},*]*\bfrom\s*)["']([^."'][^"']*)["']/gm;

/** @param file path below `dist`, with forward slashes. */
function rewriteImports(text: string, file: string, names: readonly string[]): string {
  return text.replace(imports, (whole, before: string, quote: string, name: string, subpath: string) => {
    if (!names.includes(name)) return whole;
    const target = posix.join("private", name, entryOf(name, subpath));
    const path = posix.relative(posix.dirname(file), target);
    return `${before}${quote}${path.startsWith(".") ? path : `./${path}`}${quote}`;
  });
}

/** Removes what is not published, copies the private packages into `dist/private`, and mends imports and maps. */
export function embed(name: Published): void {
  const folder = folderOf(name);
  const dist = join(folder, "dist");
  // The command has no types: nothing imports it.
  const wanted = (file: string): boolean =>
    file.endsWith(".js") || (name === "node" && file.endsWith(".d.ts"));
  for (const file of compiled(dist))
    if (!hasSource(folder, file) || !wanted(file.replace(/\.js\.map$/, ".js"))) rmSync(join(dist, file));
  inlineSources(dist, dist, join(folder, "src"));
  for (const one of inside[name]) {
    const from = join(folderOf(one), "dist");
    const to = join(dist, "private", one);
    const needed = filesOf(name, one, from);
    for (const file of compiled(from))
      if (needed(file) && hasSource(folderOf(one), file) && wanted(file.replace(/\.js\.map$/, ".js")))
        cpSync(join(from, file), join(to, file));
    inlineSources(from, to, join(folder, "src", "private", one));
  }
  for (const file of compiled(dist).filter((path) => /\.(js|d\.ts)$/.test(path))) {
    const path = join(dist, file);
    const text = rewriteImports(readFileSync(path, "utf8"), file.replaceAll("\\", "/"), inside[name]);
    // Maps of declarations would point to sources that are not there.
    writeFileSync(path, file.endsWith(".d.ts") ? text.replace(/^\/\/# sourceMappingURL=.*\n?/m, "") : text);
  }
  mustHaveDeclared(name);
}

/**
 * Which files of a private package go along: all, as some start others by their path, but of a cluster's programs only what their public faces
 * import. The programs are in the container image, with dependencies that nobody else needs. Of the protocol a pod has its own part.
 */
function filesOf(into: Published, name: string, dist: string): (file: string) => boolean {
  const isOfPod = into === "node" && name === "protocol";
  if (!isOfPod && !["webhook", "coordinator", "operator"].includes(name)) return () => true;
  const needed = new Set<string>();
  const visit = (file: string): void => {
    if (needed.has(file)) return;
    needed.add(file);
    for (const [, path = ""] of readFileSync(join(dist, file), "utf8").matchAll(relativeImports))
      visit(posix.join(posix.dirname(file), path));
  };
  visit(entryOf(name, isOfPod ? "/pod" : ""));
  return (file) => needed.has(file.replaceAll("\\", "/").replace(/\.(js\.map|d\.ts)$/, ".js"));
}

/** CommonJS has been bundled already. */
function compiled(folder: string): string[] {
  return globSync("**/*.{js,d.ts,js.map,d.ts.map}", { cwd: folder }).filter(
    (path) => !/^cjs[/\\]/.test(path),
  );
}

/** @param shown where the sources would stand: what a stack trace shows. */
function inlineSources(from: string, to: string, shown: string): void {
  const folder = join(from, "..", "src");
  for (const file of globSync("**/*.js.map", { cwd: to })) {
    if (/^(private|cjs)[/\\]/.test(file)) continue;
    const path = join(to, file);
    const map = JSON.parse(readFileSync(path, "utf8")) as { sources: string[]; sourcesContent?: string[] };
    const sources = map.sources.map((source) => resolve(dirname(join(from, file)), source));
    map.sourcesContent = sources.map((source) => readFileSync(source, "utf8"));
    map.sources = sources.map((source) => relative(dirname(path), join(shown, relative(folder, source))));
    writeFileSync(path, JSON.stringify(map));
  }
}

/** @throws {Error} where a file imports a package that nobody would install. */
function mustHaveDeclared(name: Published): void {
  const { dependencies = {}, peerDependencies = {} } = manifestOf(folderOf(name));
  const dist = join(folderOf(name), "dist");
  for (const file of compiled(dist).filter((path) => path.endsWith(".js")))
    for (const [, specifier = ""] of readFileSync(join(dist, file), "utf8").matchAll(bareImports)) {
      const [scope = "", second] = specifier.split("/");
      const used = scope.startsWith("@") ? `${scope}/${second}` : scope;
      if (used.startsWith("node:") || used in dependencies || used in peerDependencies) continue;
      throw new Error(`packages/${name}/dist/${file} imports ${used}, which its package.json does not name`);
    }
}
