import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  globSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import {
  compile,
  compileForRelease,
  librarySources,
  packageRoot,
  programSources,
} from "../toolchain/compile.ts";
import { findCompiler, systemCompiler, type Compiler } from "../toolchain/compilers.ts";

/** LAMEDUCK_INIT_SANITIZE=1 runs the same tests on a build with AddressSanitizer and UBSan. */
export const sanitized = process.env["LAMEDUCK_INIT_SANITIZE"] === "1";
const sanitizerFlags = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

// A program that ends by execution of another, or as PID 1 by exit, need not give memory back; its descriptors are tested.
if (sanitized) process.env["ASAN_OPTIONS"] = "detect_leaks=0";

const here = process.arch === "arm64" ? "arm64" : "x64";
const compiler = sanitized ? { ...systemCompiler, command: "gcc" } : findCompiler(here);

/** `skip` option of a test: one line why it cannot run, or false. */
export const withoutCompiler: string | false = compiler
  ? false
  : "no C compiler here: install musl-tools or gcc to test lameduck-init";

const prefix = "lameduck-init-test-";
const keptFor = 24 * 3_600_000;
let folder: string | undefined;

/**
 * For what is built of these sources: a build takes seconds, and some forty test files need the same. In the folder for temporary files, as
 * the restricted user of a pod runs programs from here.
 */
function buildFolder(): string {
  folder ??= ownFolder(join(tmpdir(), `${prefix}${digest()}`)) ?? passingFolder();
  return folder;
}

/** All that a build depends on. */
function digest(): string {
  const hash = createHash("sha256").update(`${compiler?.command} ${sanitized}`);
  for (const path of globSync("{package.json,toolchain/*.ts,{src,test/native}/**/*.{c,h}}", {
    cwd: packageRoot,
  }).sort())
    hash.update(`\0${path}\0`).update(readFileSync(join(packageRoot, path)));
  return hash.digest("hex").slice(0, 16);
}

/** Undefined where the name is somebody else's. */
function ownFolder(path: string): string | undefined {
  for (const name of readdirSync(tmpdir()).filter((each) => each.startsWith(prefix))) {
    const old = join(tmpdir(), name);
    const used = lstatSync(old, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
    if (used < Date.now() - keptFor) rmSync(old, { recursive: true, force: true });
  }
  mkdirSync(path, { recursive: true, mode: 0o755 });
  const { uid, mode } = lstatSync(path);
  if (uid !== process.getuid?.() || (mode & 0o170_022) !== 0o040_000) return undefined;
  utimesSync(path, new Date(), new Date());
  return path;
}

function passingFolder(): string {
  const made = mkdtempSync(join(tmpdir(), "lameduck-init-"));
  chmodSync(made, 0o755);
  process.on("exit", () => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** Another test file may build the same at the same time: whichever is done later replaces a file by an equal one. */
function buildOnce(name: string, make: (output: string) => void): string {
  const output = join(buildFolder(), name);
  if (existsSync(output)) return output;
  const beside = `${output}.${process.pid}`;
  make(beside);
  renameSync(beside, output);
  return output;
}

function build(name: string, sources: () => string[]): string {
  if (!compiler) throw new Error("no compiler");
  return buildOnce(name, (output) => {
    if (sanitized) compile(compiler, sanitizerFlags, sources(), output);
    else compileForRelease(compiler, sources(), output);
  });
}

/** The program itself, built from the sources as they are. */
export function initProgram(): string {
  return build("lameduck-init", programSources);
}

/** A helper of test/native that stands by itself; built with the system's compiler, as musl brings no kernel headers. */
export function helperProgram(name: string): string {
  return compiledOnce(name, ["-O2"], [join(packageRoot, "test/native", `${name}.c`)]);
}

function compiledOnce(name: string, flags: readonly string[], sources: readonly string[]): string {
  return buildOnce(name, (output) => compile(systemCompiler, flags, sources, output));
}

/** A harness of test/native, linked with everything but main. */
export function nativeProgram(name: string): string {
  return build(name, () => [...librarySources(), join(packageRoot, "test/native", `${name}.c`)]);
}

/** The same for another processor, as users get them. */
export function foreignProgram(foreign: Compiler, name: string, sources: () => string[]): string {
  const from = basename(foreign.command);
  return buildOnce(`${from}-${name}`, (output) => compileForRelease(foreign, sources(), output));
}

/** The program linked dynamically, for what is put between it and the C library. */
export function dynamicProgram(): string {
  return compiledOnce("lameduck-init-dynamic", ["-O1"], programSources());
}

export function preloadLibrary(name: string): string {
  return compiledOnce(
    `${name}.so`,
    ["-O2", "-shared", "-fPIC"],
    [join(packageRoot, "test/native", `${name}.c`)],
  );
}
