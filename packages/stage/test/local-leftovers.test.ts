import assert from "node:assert/strict";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { globSync, mkdtempSync, chmodSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { suite, test, type TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";
import { enterStage } from "../src/index.ts";
import { findFabric } from "../src/namespaces/privileges.ts";

const program = join(import.meta.dirname, "fixtures", "local-rolling.ts");
const fabric = await findFabric();
if (fabric.kind === "none") console.error(`no namespaces here (${fabric.because}): loopback only`);

/** Processes of this machine whose command line has the word. */
function living(word: string): string[] {
  if (process.platform !== "linux")
    return spawnSync("pgrep", ["-f", word]).stdout.toString().split("\n").filter(Boolean);
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(word);
      } catch {
        return false;
      }
    });
}

interface Running {
  readonly child: ChildProcess;
  readonly word: string;
  readonly temporary: string;
  readonly said: () => string;
}

async function start(
  context: TestContext,
  choice: string,
  how: string,
  prefix: readonly string[] = [],
  isStarted?: (word: string, temporary: string) => boolean,
): Promise<Running> {
  const word = `word-${randomUUID()}`;
  const temporary = mkdtempSync(join(tmpdir(), "lameduck-test-"));
  chmodSync(temporary, 0o777);
  const [file, ...args] = [...prefix, process.execPath, program, choice, word, how];
  const { LAMEDUCK_STAGE: _, NODE_TEST_CONTEXT: __, ...env } = process.env;
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"], env: { ...env, TMPDIR: temporary } });
  let said = "";
  child.stdout.on("data", (data: Buffer) => (said += data.toString()));
  child.stderr.on("data", (data: Buffer) => (said += data.toString()));
  context.after(() => {
    child.kill("SIGKILL");
    rmSync(temporary, { recursive: true, force: true });
  });
  const isThere = (): boolean => isStarted?.(word, temporary) ?? said.includes("ready in");
  while (!isThere()) {
    assert.equal(child.exitCode, null, said);
    await setTimeout(isStarted ? 1 : 20, undefined, { signal: context.signal });
  }
  if (isStarted) return { child, word, temporary, said: () => said };
  assert.ok(living(word).length >= 2, "pods run, and are found by their word");
  return { child, word, temporary, said: () => said };
}

/** The kernel takes a namespace's processes down after its first one; they are gone within the test's own time-out. */
async function nothingIsLeft(context: TestContext, word: string): Promise<void> {
  while (living(word).length > 0) await setTimeout(20, undefined, { signal: context.signal });
}

const limit = { timeout: 60_000 };
const choices = fabric.kind === "none" ? (["loopback"] as const) : (["namespaces", "loopback"] as const);

suite("leftovers", { concurrency: 4 }, () => {
  for (const choice of choices) {
    test(
      `an ordinary end leaves nothing behind, and passes on the exit code (${choice})`,
      limit,
      async (context) => {
        const { child, word, temporary, said } = await start(context, choice, "end");
        if (child.exitCode === null) await once(child, "exit");
        assert.equal(child.exitCode, 7, said());
        assert.deepEqual(living(word), []);
        assert.deepEqual(readdirSync(temporary), []);
      },
    );

    test(
      `an interrupt in the middle of a termination leaves nothing behind (${choice})`,
      limit,
      async (context) => {
        const { child, word, temporary, said } = await start(context, choice, "rolling");
        child.kill("SIGINT");
        await once(child, "exit");
        assert.equal(child.exitCode, 7, said());
        assert.match(said(), /ended/);
        assert.deepEqual(living(word), []);
        assert.deepEqual(readdirSync(temporary), []);
      },
    );

    for (const [when, isThen] of [
      ["before its namespaces are tried", (_, temporary) => readdirSync(temporary).length > 0],
      ["before its process listens", (word) => living(word).length > 1],
      ["once it listens", (_, temporary) => globSync("*/listens", { cwd: temporary }).length > 0],
    ] as const satisfies readonly (readonly [string, (word: string, temporary: string) => boolean])[])
      test(
        `an interrupt of a stage ${when} ends it and leaves nothing behind (${choice})`,
        limit,
        async (context) => {
          const { child, word, temporary, said } = await start(context, choice, "wait", [], isThen);
          child.kill("SIGINT");
          if (child.exitCode === null) await once(child, "exit");
          assert.equal(child.exitCode, 130, said());
          await nothingIsLeft(context, word);
          assert.deepEqual(readdirSync(temporary), []);
        },
      );

    test(`a crash of the stage leaves nothing behind (${choice})`, limit, async (context) => {
      const { child, word, temporary, said } = await start(context, choice, "throw");
      child.kill("SIGINT");
      await once(child, "exit");
      assert.equal(child.exitCode, 1, said());
      assert.match(said(), /on purpose/);
      await nothingIsLeft(context, word);
      assert.deepEqual(readdirSync(temporary), []);
    });

    test(
      `a SIGKILL of what the user started leaves no process behind (${choice})`,
      limit,
      async (context) => {
        const { child, word } = await start(context, choice, "wait");
        child.kill("SIGKILL");
        await nothingIsLeft(context, word);
      },
    );
  }

  test("an ordinary user gets namespaces of their own, too", limit, async (context) => {
    const nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"];
    const [file, ...args] = [...nobody, "unshare", "--user", "--map-root-user", "--net", "true"];
    if (process.getuid?.() !== 0 || spawnSync(file, args).status !== 0) {
      // Who is no root has been tested as an ordinary user by all the other tests.
      console.error("no second user to try here, or no user namespaces");
      return;
    }
    for (const [how, code] of [
      ["rolling", 7],
      ["throw", 1],
    ] as const) {
      const { child, word, temporary, said } = await start(context, "auto", how, nobody);
      assert.match(said(), /ready in network namespaces in a user namespace/);
      child.kill("SIGINT");
      await once(child, "exit");
      assert.equal(child.exitCode, code, said());
      await nothingIsLeft(context, word);
      assert.deepEqual(readdirSync(temporary), []);
    }
  });

  test("a stage that is to use namespaces where there are none fails with a code", limit, async () => {
    if (fabric.kind !== "none") return;
    await assert.rejects(enterStage(program, [], { network: "namespaces" }), {
      code: "LAMEDUCK_NO_NAMESPACES",
    });
  });
});
