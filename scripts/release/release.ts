/**
 * `npm run release`: packs the three packages and publishes them to the npm registry, those that others depend on first. One that the
 * registry already has in this version is left out, so that an interrupted release can be run again.
 * `npm run release -- --dry-run` packs them, shows what would be published and what is not ready, and publishes nothing.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandLine } from "../command-line.ts";
import { folderOf, manifestOf, published, root } from "../pack/workspace.ts";

interface Tarball {
  readonly name: string;
  readonly version: string;
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string; readonly size: number }[];
}

const { values } = commandLine(import.meta.url, { options: { "dry-run": { type: "boolean" } } });
const isDry = values["dry-run"] === true;
const { version, homepage = "" } = manifestOf(root);
const folder = mkdtempSync(join(tmpdir(), "lameduck-release-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

const problems = notReady();
if (problems.length > 0 && !isDry) fail(`not ready:\n${problems.map((one) => `- ${one}`).join("\n")}`);
const tarballs = published.map(pack);
for (const tarball of tarballs) process.stdout.write(`${shown(tarball)}\n\n`);
if (isDry) {
  process.stdout.write(`Nothing was published.\n`);
  for (const problem of problems) process.stdout.write(`Before a release: ${problem}.\n`);
} else for (const tarball of tarballs) publish(tarball);

function fail(problem: string): never {
  process.stderr.write(`${problem}\n`);
  process.exit(1);
}

/** What keeps this commit from being released. */
function notReady(): string[] {
  const tag = `v${version}`;
  const metadata = run("node", [join(root, "scripts/release/metadata.ts"), "--check"]);
  const changes = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  return [
    ...(metadata.status === 0 ? [] : ["run npm run metadata"]),
    ...(run("git", ["status", "--porcelain"]).stdout === "" ? [] : ["commit what has changed"]),
    ...(run("git", ["tag", "--points-at", "HEAD"]).stdout.split("\n").includes(tag)
      ? []
      : [`tag the commit ${tag}`]),
    ...(changes.includes(version) ? [] : [`say in CHANGELOG.md what ${version} changes`]),
    ...(homepage.includes(".example")
      ? ["give the project's addresses in package.json (homepage, repository); those there are placeholders"]
      : []),
  ];
}

function pack(name: (typeof published)[number]): Tarball {
  const { status, stdout, stderr } = run(
    "npm",
    ["pack", "--silent", "--json", "--pack-destination", folder],
    folderOf(name),
  );
  const [tarball] = status === 0 ? (JSON.parse(stdout.slice(stdout.indexOf("["))) as Tarball[]) : [];
  return tarball ?? fail(`packages/${name} could not be packed: ${stderr.trim() || stdout}`);
}

/** One line for each folder at the top. */
function shown({ name, version: own, filename, size, unpackedSize, files }: Tarball): string {
  const folders = new Map<string, { count: number; size: number }>();
  for (const { path, size: bytes } of files) {
    const [top = "", ...below] = path.split("/");
    const key = below.length > 0 ? `${top}/` : top;
    const sum = folders.get(key) ?? { count: 0, size: 0 };
    folders.set(key, { count: sum.count + 1, size: sum.size + bytes });
  }
  const lines = [...folders].map(
    ([key, sum]) =>
      `  ${key.padEnd(14)} ${`${sum.count}`.padStart(4)} files ${kilobytes(sum.size).padStart(9)}`,
  );
  const head = `${name}@${own}  (${filename}: ${kilobytes(size)}, ${kilobytes(unpackedSize)} unpacked, tag ${tagOf(own)})`;
  return [head, ...lines].join("\n");
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1_000).toFixed(0)} kB`;
}

/** `npm install lameduck` must not bring a pre-release. */
function tagOf(own: string): "next" | "latest" {
  return own.includes("-") ? "next" : "latest";
}

function publish({ name, version: own, filename }: Tarball): void {
  if (run("npm", ["view", `${name}@${own}`, "version"]).stdout.trim() === own) {
    process.stdout.write(`${name}@${own} is published already\n`);
    return;
  }
  // npm signs where a package comes from only inside a workflow.
  const provenance = process.env["GITHUB_ACTIONS"] === "true" ? ["--provenance"] : [];
  const { status, stdout, stderr } = run("npm", [
    "publish",
    join(folder, filename),
    "--tag",
    tagOf(own),
    ...provenance,
  ]);
  if (status !== 0) fail(`${name}@${own} could not be published: ${stdout}${stderr}`);
  process.stdout.write(`${name}@${own} is published\n`);
}

function run(
  command: string,
  args: readonly string[],
  cwd = root,
): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(command, args, { cwd, encoding: "utf8" });
}
