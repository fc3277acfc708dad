/** --ready-file and --done-file: always made in the end, whatever lies at their paths, and never through a link or a pipe. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { initProgram, nativeProgram, withoutCompiler } from "./compiled.ts";
import { endAll, eventually, onlyChildOf, Running, withoutNamespaces } from "./running.ts";

const skip = withoutCompiler;

describe("files of order", { skip }, () => {
  let folder: string;
  let done: string;
  let ready: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "lameduck-files-"));
    done = join(folder, "done");
    ready = join(folder, "ready");
  });
  afterEach(() => {
    endAll();
    rmSync(folder, { recursive: true });
  });

  async function witness(...flags: string[]): Promise<Running> {
    const both = ["--ready-file", ready, "--done-file", done];
    const program = new Running(initProgram(), [
      ...both,
      ...flags,
      "--",
      nativeProgram("witness"),
      "signals",
      "15",
    ]);
    await program.line("ready");
    return program;
  }

  test("a file that is put at the done path while the program runs is replaced, not followed and not waited for", async () => {
    const plant: Record<string, (path: string, elsewhere: string) => void> = {
      "a link to a file that is not there": (path, elsewhere) => symlinkSync(elsewhere, path),
      "a link to a file": (path, elsewhere) => {
        writeFileSync(elsewhere, "precious");
        symlinkSync(elsewhere, path);
      },
      "a pipe that nobody reads": (path) => void execFileSync("mkfifo", [path]),
      "a file": (path) => writeFileSync(path, "of somebody else"),
    };
    for (const [what, put] of Object.entries(plant)) {
      const program = await witness("--no-hold");
      const elsewhere = join(folder, "elsewhere");
      put(done, elsewhere);
      const before = existsSync(elsewhere);
      program.kill("SIGTERM");
      assert.equal((await program.ended).code, 0, what);
      assert.ok(lstatSync(done).isFile() && lstatSync(done).size === 0, what);
      assert.equal(existsSync(elsewhere), before, what);
      rmSync(elsewhere, { force: true });
    }
  });

  test("a directory at the path of an order file is reported, and nothing else happens", async () => {
    const program = await witness("--no-hold");
    execFileSync("mkdir", [done]);
    program.kill("SIGTERM");
    const { code, stderr } = await program.ended;
    assert.equal(code, 0);
    assert.match(stderr, /cannot create .*done: /);
  });

  test("the ready file is made when the signal is passed on with --no-hold", async () => {
    const program = new Running(initProgram(), [
      "--no-hold",
      "--ready-file",
      ready,
      "--",
      nativeProgram("witness"),
      "signals",
      "12",
    ]);
    await program.line("ready");
    assert.ok(!existsSync(ready));
    program.kill("SIGTERM");
    await program.line("15");
    await eventually(() => existsSync(ready), "the ready file is made while the program still runs");
    program.kill("SIGUSR2");
    assert.equal((await program.ended).code, 0);
  });

  test("a program that ends by itself, in a hold or before, leaves both order files", async () => {
    const ended = new Running(initProgram(), [
      "--ready-file",
      ready,
      "--done-file",
      done,
      "--",
      nativeProgram("witness"),
      "exit",
      "3",
    ]);
    assert.equal((await ended.ended).code, 3);
    assert.ok(existsSync(ready) && existsSync(done), "without a hold");
    // Nothing listens here, so a file that is waited for keeps the hold up.
    const held = await witness("-v", "--wait-for", join(folder, "never"));
    assert.ok(!existsSync(ready) && !existsSync(done), "what an earlier run left is gone");
    held.kill("SIGTERM");
    await held.says("holding until");
    process.kill(onlyChildOf(held.pid), "SIGKILL");
    assert.equal((await held.ended).code, 137);
    assert.ok(existsSync(ready) && existsSync(done), "in a hold");
  });

  test(
    "a program that listens nowhere waits for the file of another one, and says when it was in vain",
    { skip: withoutNamespaces },
    async () => {
      const sidecar = async (...flags: string[]): Promise<Running> => {
        const inside = [
          "--net",
          initProgram(),
          "-v",
          ...flags,
          "--",
          nativeProgram("witness"),
          "signals",
          "15",
        ];
        const program = new Running("unshare", inside);
        await program.line("ready");
        program.kill("SIGTERM");
        return program;
      };
      const file = join(folder, "app-done");
      const waits = await sidecar("--wait-for", file);
      await waits.says("holding until");
      writeFileSync(file, "");
      assert.equal((await waits.ended).code, 0);
      assert.match(waits.stderr, /nothing listens/);
      assert.doesNotMatch(waits.stderr, /in vain/);
      const vain = await sidecar("--wait-for", join(folder, "never"), "--order-timeout", "300ms");
      assert.equal((await vain.ended).code, 0);
      assert.match(vain.stderr, /waited for .*never in vain/);
    },
  );

  test("the flag --order-timeout without a file is refused", async () => {
    const alone = await new Running(initProgram(), ["--order-timeout", "1s", "--", "true"]).ended;
    assert.equal(alone.code, 2);
    assert.match(
      alone.stderr,
      /LAMEDUCK_MISSING_OPTION: --order-timeout: needs --wait-for FILE or --wait-gone FILE/,
    );
  });

  // In a network of its own: other servers of this machine would be taken for the program's.
  test("the log says that no program listens on --port", { skip: withoutNamespaces }, async () => {
    const inside = [
      "--net",
      initProgram(),
      "-v",
      "--port",
      "1",
      "--",
      nativeProgram("witness"),
      "signals",
      "15",
    ];
    const program = new Running("unshare", inside);
    await program.line("ready");
    program.kill("SIGTERM");
    await program.ended;
    assert.match(
      program.stderr,
      /nothing listens on --port 1: no other port of the program was found, either/,
    );
  });

  test(
    "a hook removes the ready file of an earlier run when it begins, and a dry run changes nothing",
    {
      skip: withoutNamespaces,
    },
    async () => {
      const order = ["--ready-file", ready, "--wait-for", done, "--order-timeout", "20s"];
      const hook = (...flags: string[]): Running =>
        new Running("unshare", [
          "--pid",
          "--fork",
          "--mount-proc",
          initProgram(),
          "wait",
          "-vv",
          ...order,
          ...flags,
        ]);
      writeFileSync(ready, "left by an earlier run");
      const dry = hook("--dry-run", "--order-timeout", "10ms");
      assert.equal((await dry.ended).code, 1);
      assert.ok(lstatSync(ready).size > 0, "as it was");
      const real = hook();
      await real.says("expected loss");
      assert.ok(!existsSync(ready), "gone while it holds");
      writeFileSync(done, "");
      assert.equal((await real.ended).code, 0);
      assert.ok(existsSync(ready), "made at the end");
    },
  );
});
