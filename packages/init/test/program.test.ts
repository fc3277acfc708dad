/** What every init must do: exit codes, and signals both ways. */
import assert from "node:assert/strict";
import { chmodSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, describe, test } from "node:test";
import { isInstalled } from "../toolchain/compilers.ts";
import { helperProgram, initProgram, nativeProgram, sanitized, withoutCompiler } from "./compiled.ts";
import { childrenOf, endAll, eventually, onlyChildOf, run, Running, stateOf } from "./running.ts";

const skip = withoutCompiler;
afterEach(endAll);
const everyCode = Array.from({ length: 256 }, (_, code) => code);
/** All but KILL and STOP, which nobody can pass on, and CHLD, which is ours. */
const everySignal = Array.from({ length: 64 }, (_, index) => index + 1).filter(
  (signal) => ![9, 17, 19].includes(signal),
);

function init(...arguments_: string[]): Running {
  return new Running(initProgram(), arguments_);
}

function witness(...arguments_: string[]): Running {
  return init("--", nativeProgram("witness"), ...arguments_);
}

/** Runs `task` for each item, a few at a time. */
async function each<T>(items: readonly T[], task: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await task(item);
  };
  await Promise.all(Array.from({ length: 4 }, worker));
}

describe("exit codes", { skip }, () => {
  test("the init exits with every exit code of its program", async () => {
    await each(everyCode, async (code) => {
      assert.equal((await witness("exit", String(code)).ended).code, code);
    });
  });

  test("the flag -e N turns exit code N into 0, for every code, and no other", async () => {
    await each(everyCode, async (code) => {
      const program = [nativeProgram("witness"), "exit", String(code)];
      assert.equal((await init("-e", String(code), "--", ...program).ended).code, 0, `${code} expected`);
      const other = String((code + 1) % 256);
      assert.equal((await init("-e", other, "--", ...program).ended).code, code, `${code} with -e ${other}`);
    });
  });

  test("the flag -e may be repeated", async () => {
    const { code } = await init("-e", "3", "-e143", "--", nativeProgram("witness"), "exit", "143").ended;
    assert.equal(code, 0);
  });

  test("the death of the program by signal n is exit code 128 + n, for every deadly signal", async () => {
    const harmless = new Set([17, 18, 19, 20, 21, 22, 23, 28]);
    const deadly = Array.from({ length: 64 }, (_, index) => index + 1).filter((n) => !harmless.has(n));
    await each(deadly, async (signal) => {
      assert.equal((await witness("die", String(signal)).ended).code, 128 + signal);
    });
  });

  test("a program that does not exist is exit code 127, and one that cannot be run 126", async () => {
    const missing = await init("--", "/no/such/program").ended;
    assert.equal(missing.code, 127);
    assert.match(missing.stderr, /cannot run \/no\/such\/program: No such file/);
    // A dry run has nothing to try then. It read a hold that never began, and crashed in one of three.
    for (let time = 0; time < 20; time++)
      assert.equal((await init("--dry-run", "--", "/no/such/program").ended).code, 127);
    const folder = mkdtempSync(join(tmpdir(), "lameduck-"));
    try {
      const path = join(folder, "data");
      writeFileSync(path, "no program");
      chmodSync(path, 0o644);
      const refused = await init("--", path).ended;
      assert.equal(refused.code, 126);
      assert.match(refused.stderr, /Permission denied/);
      assert.equal((await init("--", folder).ended).code, 126, "a directory");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("scripts without a first line that names their interpreter", { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), "lameduck-script-"));
  after(() => rmSync(folder, { recursive: true }));

  test('scripts without "#!" are run by /bin/sh, by their path and from PATH', async () => {
    writeFileSync(join(folder, "plain"), "echo $0 $1\nexit 5\n", { mode: 0o755 });
    const path = join(folder, "plain");
    const byPath = await init("--", path, "one").ended;
    assert.deepEqual([byPath.code, byPath.stdout], [5, `${path} one`], byPath.stderr);
    const env = { ...process.env, PATH: `/no/such/folder:${folder}:${process.env["PATH"]}` };
    const byName = await run(initProgram(), ["--", "plain", "two"], { env });
    assert.deepEqual([byName.code, byName.stdout], [5, `${path} two`], byName.stderr);
    const here = await run(initProgram(), ["--", "plain", "three"], { cwd: folder, env: { PATH: ":/bin" } });
    // Where the name in PATH was empty, C libraries differ.
    assert.match(`${here.code} ${here.stdout}`, /^5 (\.\/)?plain three$/, here.stderr);
  });
});

describe("signals", { skip }, () => {
  test("every signal reaches the program, in order", async () => {
    const program = init("--no-hold", "--", nativeProgram("witness"), "signals", "64");
    await program.line("ready");
    for (const signal of everySignal) {
      program.kill(signal);
      await program.line(String(signal));
    }
    assert.deepEqual(program.lines.slice(1).map(Number), everySignal);
    assert.equal((await program.ended).code, 0);
  });

  test("a signal sent while the program is still being started is not lost", async () => {
    await each(
      Array.from({ length: sanitized ? 20 : 100 }, (_, index) => index),
      async () => {
        const program = init("--no-hold", "--", "/bin/sleep", "60");
        program.process.once("spawn", () => program.kill("SIGTERM"));
        const { code } = await program.ended;
        assert.equal(code, 143);
      },
    );
  });

  test("a signal reaches the whole group with -g, and the program alone without it", async () => {
    for (const group of [true, false]) {
      const program = init(
        ...(group ? ["-g"] : []),
        "--no-hold",
        "--",
        nativeProgram("witness"),
        "group",
        "15",
      );
      await program.line("ready");
      program.kill("SIGUSR1");
      if (group) await program.line("child 10");
      program.kill("SIGTERM");
      assert.equal((await program.ended).code, 0);
      assert.equal(program.lines.includes("child 10"), group);
    }
  });

  test("a signal with -g and -c reaches the program itself, where it leads no group", async () => {
    const program = init("-g", "-c", "--no-hold", "--", nativeProgram("witness"), "signals", "15");
    await program.line("ready");
    program.kill("SIGTERM");
    await program.line("15");
    assert.equal((await program.ended).code, 0);
  });

  test("a second SIGTERM, once the first was sent on, is sent on too: for many programs it means now", async () => {
    const hold = ["--policy", "fixed", "--delay", "10ms", "--floor", "0"];
    const program = init(...hold, "--", nativeProgram("witness"), "signals", "12");
    await program.line("ready");
    program.kill("SIGTERM");
    await program.line("15");
    program.kill("SIGTERM");
    await program.until(() => program.lines.filter((line) => line === "15").length === 2);
    program.kill("SIGUSR2");
    assert.equal((await program.ended).code, 0);
  });

  test("the flags --signal and --rewrite translate signals, 0 drops one, and swaps do not chase one another", async () => {
    const program = init(
      "--no-hold",
      "--signal",
      "TERM=USR1",
      "-r",
      "1:2",
      "-r",
      "2:1",
      "--rewrite",
      "12:0",
      "-r",
      "SIGWINCH:64",
      "--",
      nativeProgram("witness"),
      "signals",
      "64",
    );
    await program.line("ready");
    for (const [sent, seen] of [
      [15, 10],
      [1, 2],
      [2, 1],
    ] as const) {
      program.kill(sent);
      await program.line(String(seen));
    }
    program.kill(12);
    program.kill(28);
    assert.equal((await program.ended).code, 0);
    assert.deepEqual(program.lines, ["ready", "10", "2", "1", "64"]);
  });

  test("a burst of different signals arrives complete", async () => {
    const program = init("--no-hold", "--", nativeProgram("witness"), "signals");
    await program.line("ready");
    // Real-time signals queue: all of them must come through.
    for (let i = 0; i < 200; i++) program.kill(40);
    await program.until(() => program.lines.filter((line) => line === "40").length === 200);
    program.kill("SIGTERM");
    await program.line("15");
    process.kill(onlyChildOf(program.pid), "SIGKILL");
    assert.equal((await program.ended).code, 137);
  });

  test("a program that is stopped is not taken for an ended one", async () => {
    const program = witness("signals", "12");
    await program.line("ready");
    const child = onlyChildOf(program.pid);
    process.kill(child, "SIGSTOP");
    await eventually(() => stateOf(child) === "T", "the program is stopped");
    program.kill("SIGHUP");
    process.kill(child, "SIGCONT");
    await program.line("1");
    program.kill("SIGUSR2");
    assert.equal((await program.ended).code, 0);
  });

  test("the program gets the signal mask and the dispositions that the init was given", async () => {
    const expected = await run("env", [
      "--block-signal=TTIN,ILL,TERM",
      "--ignore-signal=TTOU,SEGV,INT,CHLD",
      nativeProgram("witness"),
      "status",
    ]);
    const { stdout, code } = await run("env", [
      "--block-signal=TTIN,ILL,TERM",
      "--ignore-signal=TTOU,SEGV,INT,CHLD",
      initProgram(),
      "--",
      nativeProgram("witness"),
      "status",
    ]);
    assert.equal(code, 0);
    const signalLines = (text: string): string[] => text.split("\n").filter((line) => line.startsWith("Sig"));
    assert.deepEqual(signalLines(stdout), signalLines(expected.stdout));
    assert.match(stdout, /group own\nsession other/);
  });

  test("the program inherits no file descriptor of the init", async () => {
    const without = await run(nativeProgram("witness"), ["status"]);
    const { stdout } = await witness("status").ended;
    assert.equal(stdout.split("\n").at(-1), without.stdout.split("\n").at(-1));
  });

  test("the program is not told SIGPIPE when nobody reads the init's log any more", async () => {
    const program = init("-vvv", "--no-hold", "--", nativeProgram("witness"), "signals", "15");
    await program.line("ready");
    program.process.stderr?.destroy();
    for (const signal of [1, 10, 12, 28]) {
      program.kill(signal);
      await program.line(String(signal));
    }
    program.kill("SIGTERM");
    assert.equal((await program.ended).code, 0);
    assert.ok(!program.lines.includes("13"), program.lines.join());
  });
});

describe(
  "a log that nobody reads",
  { skip: skip || (isInstalled("cc") ? false : "needs cc for a helper") },
  () => {
    test("a full log pipe does not hold signals up: lines are lost, signals are not", async () => {
      const flags = ["-vvv", "--no-hold", "--", nativeProgram("witness"), "signals", "15"];
      const terminal = new Running(helperProgram("silent_terminal"), [initProgram(), ...flags]);
      await terminal.line("ready");
      const init = onlyChildOf(terminal.pid);
      // Far more than what a terminal holds, 64 KiB at most, and of all lengths.
      for (let sent = 0; sent < 4_000; sent++) {
        process.kill(init, 40 + (sent % 2));
        if (sent % 100 === 99) await terminal.until(() => terminal.lines.length === sent + 2);
      }
      process.kill(init, "SIGTERM");
      assert.equal((await terminal.ended).code, 0);
    });

    test("an alarm during a blocked write reaches the program, and one that was not sent does not", async () => {
      const flags = ["-vvv", "--no-hold", "--", nativeProgram("witness"), "signals", "15"];
      const terminal = new Running(helperProgram("silent_terminal"), [initProgram(), ...flags]);
      await terminal.line("ready");
      const init = onlyChildOf(terminal.pid);
      for (let sent = 0; sent < 2_000; sent++) {
        process.kill(init, sent % 10 === 0 ? "SIGALRM" : 40);
        if (sent % 10 === 9) await terminal.until(() => terminal.lines.length === sent + 2);
      }
      process.kill(init, "SIGTERM");
      assert.equal((await terminal.ended).code, 0);
      assert.equal(terminal.lines.filter((line) => line === "14").length, 200);
    });
  },
);

const withoutFanotify =
  isInstalled("cc") && process.getuid?.() === 0 ? false : "needs root and cc, for fanotify";

describe("a file system that hangs", { skip: skip || withoutFanotify }, () => {
  test("a program whose exec hangs holds no signal up", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "lameduck-stuck-"));
    try {
      const path = join(folder, "stuck");
      copyFileSync(nativeProgram("witness"), path);
      const hanging = new Running(helperProgram("stuck_exec"), [path]);
      await hanging.until(() => hanging.lines.length > 0);
      if (hanging.lines[0] !== "ready") {
        t.skip("the kernel has no fanotify for executions");
        return;
      }
      const program = init("-vvv", "--no-hold", "--", path, "exit", "0");
      await eventually(() => childrenOf(program.pid).length === 1, "the child is there");
      program.kill("SIGTERM");
      await program.says("sent SIGTERM");
      hanging.kill("SIGKILL");
      assert.equal((await program.ended).code, 143);
    } finally {
      endAll();
      rmSync(folder, { recursive: true });
    }
  });
});
