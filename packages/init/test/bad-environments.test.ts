/** Where something that every machine has is missing or turns: no crash, no signal that comes early, no flood of lines. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  dynamicProgram,
  initProgram,
  nativeProgram,
  preloadLibrary,
  sanitized,
  withoutCompiler,
} from "./compiled.ts";
import { Network } from "./network.ts";
import { go, programAsPod, reportOf, resultOf, sender, terminate, type HoldReport } from "./pod.ts";
import { endAll, Running, withoutNamespaces } from "./running.ts";

after(endAll);
const skip = withoutCompiler || withoutNamespaces;

/** Runs `script` in the container's own mount namespace, and then what follows. */
const inContainer = (script: string): string[] => ["sh", "-c", `${script} && exec "$@"`, "in-container"];

interface Held {
  readonly report: HoldReport;
  readonly lines: Record<string, unknown>[];
}

/** A hold under traffic, of which nothing may be lost. */
async function holdOf(network: Network, server: Running): Promise<Held> {
  await server.line("ready");
  const traffic = sender(network, 1, { every: 20, for: 3_000 });
  await go(traffic);
  await server.line("working");
  terminate(server);
  assert.equal((await resultOf(traffic)).lost, 0, server.stderr);
  // The witness has no handler: the signal is its end.
  assert.equal((await server.ended).code, 143, server.stderr);
  const lines = server.stderr.trim().split("\n");
  return {
    report: reportOf(server.stderr),
    lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

async function held(behind: readonly string[]): Promise<Held> {
  await using network = await Network.create();
  return await holdOf(
    network,
    programAsPod(behind, network, [], [nativeProgram("witness"), "workers", "80", "1"]),
  );
}

function run([command, ...rest]: [string, ...string[]]): Running {
  return new Running(command, rest);
}

/** It waited for the traffic to end, and said so at the beginning and at the end. */
function assertHeld({ report, lines }: Held, warnings = 0): void {
  assert.ok(report.reason === "quiet" || report.reason === "cap", JSON.stringify(lines));
  assert.ok(report.hold_ms > 2_000, JSON.stringify(lines));
  const warned = lines.filter(({ level }) => level === "warning" || level === "error");
  assert.ok(warned.length <= warnings, JSON.stringify(warned));
  assert.ok(lines.length <= 2 + warnings, JSON.stringify(lines));
}

describe("bad environments", { skip, concurrency: 4 }, () => {
  before(() => [initProgram(), nativeProgram("witness"), dynamicProgram(), preloadLibrary("clock_back")]);

  test("a hold survives a read-only /proc", async () => {
    assertHeld(await held(inContainer("mount -o remount,ro /proc")));
  });

  test("a hold survives a limit of 16 file descriptors", async () => {
    assertHeld(await held(["prlimit", "--nofile=16"]));
  });

  test("a hold survives a limit of 6 file descriptors; with fewer no program can be started", async () => {
    assertHeld(await held(["prlimit", "--nofile=6"]));
  });

  test("a hold survives a limit on address space at what the process has", { skip: sanitized }, async () => {
    const idle = new Running(initProgram(), ["--no-hold", "--", nativeProgram("witness"), "signals", "15"]);
    await idle.line("ready");
    const size = /^VmSize:\s+(\d+) kB/m.exec(readFileSync(`/proc/${idle.pid}/status`, "utf8"))?.[1];
    idle.kill("SIGTERM");
    await idle.ended;
    await using network = await Network.create();
    const isolated = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];
    const limited = ["prlimit", `--as=${Number(size) * 1024}`, initProgram(), "--log", "json", "--"];
    const server = run(
      network.asPod(...isolated, ...limited, nativeProgram("witness"), "workers", "80", "1"),
    );
    assertHeld(await holdOf(network, server), 1);
  });

  test("a hold survives a wall clock that is set back by an hour", { skip: sanitized }, async () => {
    const dynamic = [dynamicProgram(), "--log", "json", "--"];
    const back = join(mkdtempSync(join(tmpdir(), "lameduck-clock-")), "back");
    after(() => rmSync(dirname(back), { recursive: true }));
    const env = { ...process.env, LD_PRELOAD: preloadLibrary("clock_back"), CLOCK_BACK: back };
    await using network = await Network.create();
    const [command, ...rest] = network.asPod(...dynamic, nativeProgram("witness"), "workers", "80", "1");
    const server = new Running(command, rest, { env });
    await server.line("ready");
    const traffic = sender(network, 1, { every: 20, for: 3_500 });
    await go(traffic);
    await server.line("working");
    server.kill("SIGTERM");
    await server.says("hold-began");
    writeFileSync(back, "");
    assert.equal((await resultOf(traffic)).lost, 0);
    assert.equal((await server.ended).code, 143);
    const lines = server.stderr.trim().split("\n");
    const [first, last] = [lines[0], lines.at(-1)].map((line) => JSON.parse(line ?? "") as { time: number });
    assert.ok(last!.time < first!.time - 3_000, "the clock did go back");
    assert.equal(reportOf(server.stderr).reason, "quiet");
    assert.ok(reportOf(server.stderr).hold_ms > 2_000);
  });

  for (const [what, script] of [
    ["no /dev/shm", "mount -t tmpfs none /dev"],
    ["a /dev/shm that cannot be written", "mount -t tmpfs -o ro none /dev/shm"],
  ] as const)
    test(`a hook survives ${what}`, async () => {
      await using network = await Network.create();
      const [serverCommand, ...serverRest] = network.asPod(nativeProgram("witness"), "workers", "80", "1");
      await new Running(serverCommand, serverRest).line("ready");
      const hook = ["unshare", "--mount", ...inContainer(script), initProgram(), "wait", "--log", "json"];
      const [command, ...rest] = network.asPod(...hook);
      const traffic = sender(network, 1, { every: 20, for: 2_500 });
      await go(traffic);
      const waiting = new Running(command, rest);
      assert.equal((await resultOf(traffic)).lost, 0);
      assert.equal((await waiting.ended).code, 0, waiting.stderr);
      assert.equal(reportOf(waiting.stderr).reason, "quiet");
      assert.ok(waiting.stderr.trim().split("\n").length <= 2, waiting.stderr);
    });
});
