/** The arm64 binary, run by qemu-user where this machine is another. */
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, before, describe, test } from "node:test";
import { librarySources, packageRoot, programSources } from "../toolchain/compile.ts";
import { findCompiler, findReleaseCompiler, installZig, isInstalled } from "../toolchain/compilers.ts";
import { foreignProgram, initProgram, sanitized } from "./compiled.ts";
import { endAll, run, Running } from "./running.ts";

afterEach(endAll);
const compiler = findReleaseCompiler("arm64");
const emulator = process.arch === "arm64" ? [] : ["qemu-aarch64"];
const skip = sanitized
  ? "tested without sanitizers only"
  : !compiler
    ? `needs a compiler for arm64: ${installZig}`
    : emulator.every(isInstalled)
      ? false
      : "needs qemu-aarch64 (qemu-user)";

describe("arm64", { skip }, () => {
  let program = "";
  let vectors = "";
  before(() => {
    assert.ok(compiler);
    const harness = (): string[] => [...librarySources(), join(packageRoot, "test/native/vectors.c")];
    program = foreignProgram(compiler, "lameduck-init", programSources);
    vectors = foreignProgram(compiler, "vectors", harness);
  });
  const start = (...words: string[]): Running => {
    const [command = "", ...rest] = [...emulator, program, ...words];
    return new Running(command, rest);
  };

  test("the arm64 program has the exit codes and options of the one for this machine", async () => {
    assert.equal((await start("--", "sh", "-c", "exit 42").ended).code, 42);
    assert.equal((await start("-e", "42", "--", "sh", "-c", "exit 42").ended).code, 0);
    assert.equal((await start("--", "/no/such/program").ended).code, 127);
    assert.equal((await start("--floor", "soon", "--", "true").ended).code, 2);
  });

  test("the arm64 program passes signals on and translates them", async () => {
    const script = 'trap "exit 10" USR1; echo up; while :; do sleep 0.1; done';
    const shell = start("--no-hold", "--signal", "TERM=USR1", "--", "sh", "-c", script);
    await shell.line("up");
    shell.kill("SIGTERM");
    assert.equal((await shell.ended).code, 10);
  });

  test("the arm64 program decides as the one for this machine", async () => {
    const before = Array.from({ length: 100 }, (_, index) => `see connection ${100 * index - 10_000} a -`);
    const hold = ["see termination 0 - -", "see connection 500 a -", "end", ""];
    const lines = ["option floor 0", ...before, ...hold].join("\n");
    const ask = async (command: string, ...rest: string[]): Promise<string> => {
      const asked = new Running(command, rest, { stdio: ["pipe", "pipe", "pipe"] });
      asked.process.stdin?.end(lines);
      return (await asked.ended).stdout;
    };
    const [command, ...rest] = [...emulator, vectors];
    assert.match(await ask(command, ...rest), /^[\d.]+ quiet /);
  });

  test("the arm64 program is for arm64 and, with musl, no more than a quarter larger than the one for x64", async (t) => {
    const { stdout } = await run("od", ["-An", "-tx1", "-j18", "-N2", program]);
    assert.equal(stdout.trim(), "b7 00");
    if (compiler?.libc !== "musl" || findCompiler("x64")?.libc !== "musl")
      return t.skip("needs compilers with musl for both processors: npm run build:init says how");
    const sizes = [program, initProgram()].map((path) => statSync(path).size);
    const [arm64 = NaN, x64 = NaN] = sizes;
    assert.ok(arm64 <= 1.25 * x64, `${arm64} and ${x64} bytes`);
  });
});
