/**
 * `npm run release`: makes everything that a release consists of, and publishes it: packages to the npm registry, images and chart to the
 * addresses of the root's package.json, all files to the page of the release. What is there already in this version is left as it is, so that an
 * interrupted release can be run again.
 * `npm run release -- --dry-run` makes and shows everything with size, digest and licences, says what is not ready, and publishes nothing.
 */
import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { cacheDirectory } from "../../e2e/cluster/host/paths.ts";
import { helmHere } from "../../e2e/cluster/host/programs.ts";
import { findReleaseCompiler, installZig, isInstalled } from "../../packages/init/toolchain/compilers.ts";
import { commandLine } from "../command-line.ts";
import { must } from "../must.ts";
import { manifestOf, root } from "../pack/workspace.ts";
import { kilobytes, makeArtefacts, sizeOf, type Artefact } from "./artefacts.ts";
import type { Addresses } from "./metadata.ts";

const { values } = commandLine(import.meta.url, {
  options: {
    "dry-run": { type: "boolean" },
    // keeps what was made in this folder
    to: { type: "string" },
  },
});
const isDry = values["dry-run"] === true;
const {
  version,
  homepage = "",
  addresses,
} = manifestOf(root) as ReturnType<typeof manifestOf> & {
  addresses: Addresses;
};
const folder =
  values.to === undefined ? mkdtempSync(join(tmpdir(), "lameduck-release-")) : resolve(values.to);
mkdirSync(folder, { recursive: true });
process.on("exit", () => {
  if (values.to === undefined) rmSync(folder, { recursive: true, force: true });
});

const helm = await helmHere(cacheDirectory());
const problems = notReady();
if (problems.length > 0 && !isDry) fail(`not ready:\n${problems.map((one) => `- ${one}`).join("\n")}`);
try {
  const artefacts = await makeArtefacts(folder, helm);
  for (const one of artefacts) process.stdout.write(`${shown(one)}\n\n`);
  process.stdout.write(
    `Bills of materials (CycloneDX): ${globSync("*.cdx.json", { cwd: folder }).sort().join(", ")}\n`,
  );
  if (!isDry) publish(artefacts);
} catch (error) {
  fail(error instanceof Error ? error.message : String(error));
}
if (isDry) {
  process.stdout.write("Nothing was published.\n");
  for (const problem of problems) process.stdout.write(`Before a release: ${problem}.\n`);
}

function fail(problem: string): never {
  process.stderr.write(`${problem}\n`);
  process.exit(1);
}

/** What keeps this commit from being released. */
function notReady(): string[] {
  const tag = `v${version}`;
  const metadata = run("node", [join(root, "scripts/release/metadata.ts"), "--check"]);
  const changes = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  const compilers = (["x64", "arm64"] as const).map(findReleaseCompiler);
  return [
    ...(metadata.status === 0 ? [] : ["run npm run metadata"]),
    ...(run("git", ["status", "--porcelain"]).stdout === "" ? [] : ["commit what has changed"]),
    ...(run("git", ["tag", "--points-at", "HEAD"]).stdout.split("\n").includes(tag)
      ? []
      : [`tag the commit ${tag}`]),
    ...(changes.includes(version) ? [] : [`say in CHANGELOG.md what ${version} changes`]),
    ...([homepage, addresses.image].some((one) => one.includes(".example"))
      ? [
          "give the project's addresses in package.json (homepage, repository, addresses); those there are placeholders",
        ]
      : []),
    ...(compilers.every((one) => one?.command.includes("zig"))
      ? []
      : [`have the pinned compiler: ${installZig}`]),
    ...(helm === undefined ? ["have Helm, without which there is no chart"] : []),
    ...["skopeo", "gh"].filter((program) => !isInstalled(program)).map((program) => `have ${program}`),
  ];
}

function shown(artefact: Artefact): string {
  const { file, what, digest, licences, about } = artefact;
  const lines = [`${kilobytes(sizeOf(artefact))}  ${digest}`, ...about, `licences: ${licences}`];
  return [`${basename(file)}: ${what}`, ...lines.map((line) => `  ${line}`)].join("\n");
}

/** `npm install lameduck` must not bring a pre-release. */
function tagOf(own: string): "next" | "latest" {
  return own.includes("-") ? "next" : "latest";
}

function publish(artefacts: readonly Artefact[]): void {
  for (const { file, goesTo } of artefacts) {
    if (goesTo === undefined) continue;
    if ("npm" in goesTo) {
      if (run("npm", ["view", `${goesTo.npm}@${version}`, "version"]).stdout.trim() !== version)
        must("npm", ["publish", file, "--tag", tagOf(version)], root);
    } else if ("image" in goesTo)
      must("skopeo", ["copy", "--all", `oci-archive:${file}`, `docker://${goesTo.image}`], root);
    else must(helm ?? "helm", ["push", file, `oci://${addresses.charts}`], root);
    process.stdout.write(`${basename(file)} is published\n`);
  }
  const tag = `v${version}`;
  if (run("gh", ["release", "view", tag]).status !== 0)
    must(
      "gh",
      ["release", "create", tag, "--verify-tag", "--notes", "CHANGELOG.md says what has changed."],
      root,
    );
  // Images are in their registry: they are too large for a page.
  const files = globSync("*", { cwd: folder }).filter((name) => !name.endsWith(".tar"));
  must("gh", ["release", "upload", tag, "--clobber", ...files.map((name) => join(folder, name))], root);
}

function run(command: string, args: readonly string[]): { status: number | null; stdout: string } {
  return spawnSync(command, args, { cwd: root, encoding: "utf8" });
}
