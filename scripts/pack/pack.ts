/**
 * Run by npm around `npm pack` and `npm publish`, in the folder of a published package: `prepack` builds and makes `dist` what is
 * published, `postpack` puts the development build back.
 */
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, join, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { findReleaseCompiler, installZig } from "../../packages/init/toolchain/compilers.ts";
import { must } from "../must.ts";
import { embed } from "./embed.ts";
import { folderOf, manifestOf, published, root, type Published } from "./workspace.ts";
import type * as Program from "../../packages/load/src/in-cluster/program.ts";

/** Copied from the root for the time of packing. */
const copied: Readonly<Record<Published, readonly string[]>> = {
  init: ["LICENSE"],
  node: ["LICENSE"],
  cli: ["LICENSE", "docs"],
};
/** The grid is a listing of measurements, larger than everything else together. */
const keptBack = /[/\\]grid\.md$/;

const fill: Readonly<Record<Published, () => Promise<void> | void>> = {
  init: buildBinaries,
  node: () => {
    must("node", [join(folderOf("node"), "scripts/bundle.ts")], root);
    embed("node");
  },
  cli: async () => {
    linkToHomepage();
    embed("cli");
    await bundleLoadProgram();
  },
};

const name = published.find((one) => one === basename(process.cwd()));
const [step] = process.argv.slice(2);
if (name === undefined || (step !== "prepack" && step !== "postpack")) {
  fail(`usage: node scripts/pack/pack.ts prepack|postpack, in packages/${published.join(" or packages/")}`);
} else if (step === "postpack") restore(name);
else {
  // An earlier pack may have been killed.
  restore(name);
  try {
    await prepare(name);
  } catch (error) {
    restore(name);
    fail(error instanceof Error ? error.message : String(error));
  }
}

function fail(problem: string): void {
  process.stderr.write(`cannot pack: ${problem}\n`);
  process.exitCode = 1;
}

async function prepare(one: Published): Promise<void> {
  const folder = folderOf(one);
  must("tsc", ["-b", root], root);
  mkdirSync(join(backupOf(one), ".."), { recursive: true });
  cpSync(join(folder, "dist"), backupOf(one), { recursive: true });
  for (const file of copied[one])
    cpSync(join(root, file), join(folder, file), { recursive: true, filter: (path) => !keptBack.test(path) });
  await fill[one]();
}

function restore(one: Published): void {
  const folder = folderOf(one);
  for (const file of copied[one]) rmSync(join(folder, file), { recursive: true, force: true });
  if (!existsSync(backupOf(one))) return;
  // Something else may be running from there: it is away for a moment only.
  const packed = `${backupOf(one)}-packed`;
  rmSync(packed, { recursive: true, force: true });
  if (existsSync(join(folder, "dist"))) renameSync(join(folder, "dist"), packed);
  renameSync(backupOf(one), join(folder, "dist"));
  rmSync(packed, { recursive: true, force: true });
}

function backupOf(one: Published): string {
  return join(root, "node_modules/.cache/lameduck-pack", one);
}

function buildBinaries(): void {
  const missing = (["x64", "arm64"] as const).filter((architecture) => !findReleaseCompiler(architecture));
  // A user of a clone gets all else: `npm run install-into`.
  if (missing.length > 0 && process.env["LAMEDUCK_PACK_WITHOUT_BINARIES"] !== "1")
    throw new Error(`no C compiler for ${missing.join(" and ")}; run \`${installZig}\``);
  if (missing.length < 2) must("node", [join(folderOf("init"), "toolchain/build.ts")], root);
  const dist = join(folderOf("init"), "dist");
  for (const file of globSync("*", { cwd: dist }))
    if (!/^(lameduck-init-(x64|arm64)|(index|errors)\.(js|d\.ts))$/.test(file)) rmSync(join(dist, file));
}

/** Pages that are not in the package are at the homepage. */
function linkToHomepage(): void {
  const { homepage = "" } = manifestOf(root);
  const docs = join(folderOf("cli"), "docs");
  for (const page of globSync("**/*.md", { cwd: docs })) {
    const outside = `](${"../".repeat(page.split(sep).length)}`;
    const text = readFileSync(join(docs, page), "utf8").replaceAll(outside, `](${homepage}`);
    writeFileSync(join(docs, page), text);
  }
}

/** One file for the load's pods, which have Node and nothing else. */
async function bundleLoadProgram(): Promise<void> {
  // What tsc made: the sources have syntax that the oldest Node does not know.
  const { bundledProgram } = (await import(
    pathToFileURL(join(folderOf("load"), "dist/in-cluster/program.js")).href
  )) as typeof Program;
  const file = join(folderOf("cli"), "dist/private/load/in-cluster/load-pod.mjs");
  writeFileSync(file, await bundledProgram());
}
