/** Children that end, of the program and of nobody; and a parent that does. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { afterEach, describe, test } from "node:test";
import { initProgram, nativeProgram, sanitized, withoutCompiler } from "./compiled.ts";
import { childrenOf, endAll, eventually, onlyChildOf, run, Running } from "./running.ts";

const skip = withoutCompiler;
afterEach(endAll);

function init(...arguments_: string[]): Running {
  return new Running(initProgram(), arguments_);
}

describe("reaping", { skip }, () => {
  test("thousands of orphans leave no zombie and no descriptor", async () => {
    const program = init("-s", "--no-hold", "--", nativeProgram("witness"), "orphans", "3000");
    await program.line("ready");
    await eventually(() => childrenOf(program.pid).length === 1, "only the program is left");
    const descriptors = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;
    // Each has what the test runner gave to both, and one for its signals.
    assert.equal(descriptors(program.pid), descriptors(onlyChildOf(program.pid)));
    program.kill("SIGTERM");
    assert.equal((await program.ended).code, 0);
  });

  test("the program's exit code is not missed when many children end at once with it", async () => {
    // SIGCHLD does not queue: one may stand for all of them.
    const script = "for i in 1 2 3 4 5 6 7 8; do (exit 1) & done; exit 9";
    for (let round = 0; round < (sanitized ? 2 : 10); round++) {
      const programs = Array.from({ length: 4 }, () => init("-s", "--", "/bin/sh", "-c", script));
      for (const program of programs) assert.equal((await program.ended).code, 9);
    }
  });

  test("zombies that were reaped are logged with -w only", async () => {
    const script = "(sleep 0.01 &) ; sleep 0.2";
    const warned = await init("-w", "-s", "--", "/bin/sh", "-c", script).ended;
    assert.match(warned.stderr, /warning: Reaped zombie process with pid=\d+/);
    const silent = await init("-s", "--", "/bin/sh", "-c", script).ended;
    assert.equal(silent.stderr, "");
  });

  test("the end of the program is seen where SIGCHLD was ignored at the start, as some runtimes do", async () => {
    const { code } = await run("env", [
      "--ignore-signal=CHLD",
      initProgram(),
      "--",
      nativeProgram("witness"),
      "exit",
      "5",
    ]);
    assert.equal(code, 5);
  });

  test("the program is told with -p when the parent dies", async () => {
    const script = `"$0" -p USR1 --no-hold -- "$1" signals 10 & exec sleep 60`;
    const parent = new Running("/bin/sh", ["-c", script, initProgram(), nativeProgram("witness")]);
    await parent.line("ready");
    process.kill(parent.pid, "SIGKILL");
    await parent.line("10");
    await parent.ended;
  });
});
