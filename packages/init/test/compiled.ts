import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  compile,
  compileForRelease,
  librarySources,
  packageRoot,
  programSources,
} from "../toolchain/compile.ts";
import { findCompiler } from "../toolchain/compilers.ts";

/** LAMEDUCK_INIT_SANITIZE=1 runs the same tests on a build with AddressSanitizer and UBSan. */
export const sanitized = process.env["LAMEDUCK_INIT_SANITIZE"] === "1";
const sanitizerFlags = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

// A program that ends by execution of another, or as PID 1 by exit, need not give memory back; its descriptors are tested.
if (sanitized) process.env["ASAN_OPTIONS"] = "detect_leaks=0";

const here = process.arch === "arm64" ? "arm64" : "x64";
const compiler = sanitized ? { command: "gcc" } : findCompiler(here);

/** `skip` option of a test: one line why it cannot run, or false. */
export const withoutCompiler: string | false = compiler
  ? false
  : "no C compiler here: install musl-tools or gcc to test lameduck-init";

let folder: string | undefined;

/** A folder for what this test file builds; gone when it ends. */
function buildFolder(): string {
  if (!folder) {
    const made = mkdtempSync(join(tmpdir(), "lameduck-init-"));
    // The restricted user of a pod runs programs from here.
    chmodSync(made, 0o755);
    process.on("exit", () => rmSync(made, { recursive: true, force: true }));
    folder = made;
  }
  return folder;
}

const built = new Map<string, string>();

function build(name: string, sources: () => string[]): string {
  const known = built.get(name);
  if (known !== undefined) return known;
  if (!compiler) throw new Error("no compiler");
  const output = join(buildFolder(), name);
  if (sanitized) compile(compiler.command, sanitizerFlags, sources(), output);
  else compileForRelease(compiler.command, sources(), output);
  built.set(name, output);
  return output;
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
  const known = built.get(name);
  if (known !== undefined) return known;
  const output = join(buildFolder(), name);
  compile("cc", flags, sources, output);
  built.set(name, output);
  return output;
}

/** A harness of test/native, linked with everything but main. */
export function nativeProgram(name: string): string {
  return build(name, () => [...librarySources(), join(packageRoot, "test/native", `${name}.c`)]);
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
