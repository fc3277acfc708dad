/** Apps on machines that lack something usual, or whose clock is set: no app crashes, ends its hold early or loses a request. */
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ask } from "./ask.ts";
import { Child, cleanEnvironment, fixture, inPod } from "./child.ts";

const folder = mkdtempSync(join(tmpdir(), "lameduck-bad-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const settings = { ...inPod, LAMEDUCK_FLOOR: "300ms", LAMEDUCK_CONVERGENCE: "500ms" };

/** Starts the app by a command that changes what the process can see or have. */
async function started(behind: readonly string[], env: Record<string, string> = {}): Promise<Child> {
  const [command, ...rest] = [...behind, process.execPath, fixture("server.ts")];
  const all = cleanEnvironment({ ...settings, ...env });
  const child = new Child(spawn(command, rest, { env: all, stdio: "pipe" }));
  let gone = false;
  void child.exited.then(() => (gone = true));
  await child.until(() => child.ports.length > 0 || gone, 90_000);
  assert.ok(!gone, `it starts: ${child.stderr}`);
  return child;
}

/** Traffic goes on for so long after SIGTERM. */
const lag = 2_000;

async function assertHolds(child: Child): Promise<void> {
  assert.equal((await ask(child.port)).status, 200);
  child.kill();
  const begun = performance.now();
  while (performance.now() - begun < lag) {
    assert.equal((await ask(child.port)).status, 200);
    await pause(20);
  }
  assert.equal((await child.exited).code, 0, child.stderr);
  const closing = child.event("closing")!;
  assert.ok(closing.reason === "quiet" || closing.reason === "cap", child.stderr);
  assert.ok(closing.hold >= lag - 100, child.stderr);
  assert.doesNotMatch(child.stderr, /^\s+at /m, "no stack trace");
  assert.ok(child.stderr.trim().split("\n").length < 10, `no flood: ${child.stderr}`);
}

const withoutRoot =
  spawnSync("unshare", ["--mount", "true"]).status === 0 ? false : "needs leave to make a mount namespace";
const inMounts = (script: string): string[] => [
  "unshare",
  "--mount",
  "sh",
  "-c",
  `${script} && exec "$@"`,
  "mounts",
];

for (const [what, script] of [
  ["a read-only /proc", "mount -o remount,bind,ro /proc"],
  ["no /dev/shm", "umount -l /dev/shm; mount -t tmpfs -o ro none /dev/shm"],
] as const)
  test(`an app with ${what} holds and loses no request`, { skip: withoutRoot }, async () => {
    await using child = await started(inMounts(script));
    await assertHolds(child);
  });

/** The lowest limit of file descriptors with which Node itself starts. */
function fewestDescriptors(): number {
  for (let count = 16; ; count++)
    if (spawnSync("sh", ["-c", `ulimit -n ${count}; exec "$0" -e 0`, process.execPath]).status === 0)
      return count;
}

test("an app with hardly more file descriptors than Node needs to start holds and loses no request", async () => {
  const limit = `ulimit -n ${fewestDescriptors() + 4}; exec "$0" "$@"`;
  await using child = await started(["sh", "-c", limit]);
  await assertHolds(child);
});

const withoutPrlimit =
  spawnSync("prlimit", ["--version"]).status === 0 ? false : "needs prlimit (util-linux)";

/** Address space that is left for the heap, kB. Without any, Node ends at its first request. On a busy machine the heap grows more. */
const headroom = 16_384;

test(
  "an app with hardly more address space than it has in use holds and loses no request",
  { skip: withoutPrlimit },
  async () => {
    await using child = await started([], { NODE_OPTIONS: "--max-semi-space-size=1" });
    const pid = String(child.process.pid);
    const size = /^VmSize:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    execFileSync("prlimit", ["--pid", pid, `--as=${(Number(size) + headroom) * 1_024}`]);
    await assertHolds(child);
  },
);

const withoutCompiler =
  spawnSync("cc", ["--version"]).status === 0 ? false : "needs cc, for a library that is preloaded";

test(
  "an app holds and loses no request when the wall clock goes back by an hour in the middle of the hold",
  { skip: withoutCompiler },
  async () => {
    const source = fileURLToPath(new URL("../../init/test/native/clock_back.c", import.meta.url));
    const library = join(folder, "clock_back.so");
    execFileSync("cc", ["-O2", "-shared", "-fPIC", source, "-o", library]);
    await using child = await started([], { LD_PRELOAD: library });
    await assertHolds(child);
  },
);
