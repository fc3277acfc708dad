/** `lameduck-init wait` beside a program in its container: the log, --then, and hooks that are run more than once. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { isInstalled } from "../toolchain/compilers.ts";
import { initProgram, nativeProgram, withoutCompiler } from "./compiled.ts";
import { Container } from "./container.ts";
import { reportOf, type HoldReport } from "./pod.ts";
import { endAll, eventually, withoutNamespaces } from "./running.ts";

after(endAll);
const skip = withoutCompiler || withoutNamespaces;

function reportsOf(stderr: string): HoldReport[] {
  return stderr
    .split("\n")
    .filter((line) => line.includes('"event":"hold-ended"'))
    .map((line) => JSON.parse(line) as HoldReport);
}

async function witness(...arguments_: string[]): Promise<Container> {
  const container = new Container(nativeProgram("witness"), ...arguments_);
  await container.main.line("ready");
  return container;
}

describe("the hook's log", { skip, concurrency: 3 }, () => {
  before(() => void initProgram());

  test("the hook writes a line at the beginning and one at the end, in the container's log and on stderr", async () => {
    const container = await witness("signals", "15");
    const ended = await container.hook().ended;
    assert.equal(ended.code, 0, ended.stderr);
    await container.log.until(() => container.log.lines.length >= 2);
    for (const lines of [container.log.lines, ended.stderr.trim().split("\n")]) {
      const events = lines.map((line) => (JSON.parse(line) as { event: string }).event);
      assert.deepEqual(events, ["hold-began", "hold-ended"]);
    }
  });

  test("the hook's lines are not doubled where log and stderr are the same, and a dry run writes to stderr alone", async () => {
    const container = await witness("signals", "15");
    const dry = await container.hook("--dry-run").ended;
    assert.match(dry.stderr, /dry run/);
    const same = await container.exec("sh", "-c", `"$0" wait 2>>/proc/1/fd/2`, initProgram()).ended;
    assert.deepEqual([same.code, same.stderr], [0, ""]);
    await container.log.until(() => container.log.lines.some((line) => line.includes("held for")));
    assert.equal(container.log.lines.length, 2);
  });
});

describe("wait --then", { skip }, () => {
  before(() => void initProgram());

  test("the hook wait --then sends PID 1 its own signal after the hold, and ends with PID 1 by code 137", async () => {
    const container = await witness("signals", "10");
    const ended = await container.hook("--then", "USR1").ended;
    assert.equal(ended.code, 137, ended.stderr);
    assert.equal((await container.main.ended).code, 0);
    assert.deepEqual(container.main.lines, ["ready", "10"]);
    await container.log.until(() => container.log.lines.join().includes("sending SIGUSR1 to PID 1"));
  });

  test(
    "HAProxy as PID 1, which takes no SIGTERM there, ends by its soft stop",
    {
      skip: isInstalled("haproxy") ? false : "needs haproxy",
    },
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "lameduck-haproxy-"));
      try {
        const config = join(folder, "haproxy.cfg");
        const lines = [
          "defaults",
          " mode http",
          " timeout client 5s",
          "listen web",
          " bind :80",
          " http-request return status 200",
        ];
        writeFileSync(config, `${lines.join("\n")}\n`);
        const container = new Container("haproxy", "-W", "-db", "-f", config);
        await container.log.until(() => container.log.lines.some((line) => line.includes("Loading success")));
        const ended = await container.hook("--floor", "200ms", "--then", "USR1").ended;
        assert.equal(ended.code, 137, ended.stderr);
        assert.equal((await container.main.ended).code, 0);
        assert.equal(reportOf(ended.stderr).reason, "idle");
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  );

  test("the hook wait --then waits for the end of PID 1 until the cap, and says when that has come", async () => {
    const container = await witness("signals", "12");
    const begun = performance.now();
    const flags = ["--grace", "4s", "--reserve", "1s", "--cap", "1200ms", "--floor", "0"];
    const ended = await container.hook(...flags, "--then", "USR1").ended;
    assert.equal(ended.code, 0, ended.stderr);
    assert.ok(performance.now() - begun >= 1_200, "until the cap");
    assert.match(ended.stderr, /PID 1 has not ended yet/);
    assert.deepEqual(container.main.lines, ["ready", "10"]);
  });

  test("the hook wait --then fails where the kernel would drop the signal, and says so", async () => {
    // A shell that forks blocks all signals for a moment, and what is blocked is not dropped: this one never forks.
    const container = new Container("sh", "-c", "echo ready; exec sleep 1000");
    await container.main.line("ready");
    const ended = await container.hook("--then", "USR1").ended;
    assert.equal(ended.code, 1);
    assert.match(ended.stderr, /PID 1 has no handler for SIGUSR1/);
  });

  test("a dry run of wait --then sends nothing", async () => {
    const container = await witness("signals", "10");
    const ended = await container.hook("--then", "USR1", "--dry-run").ended;
    assert.match(ended.stderr, /would send SIGUSR1 to PID 1/);
    assert.deepEqual(container.main.lines, ["ready"]);
  });

  const cgroups = ["/sys/fs/cgroup", "/sys/fs/cgroup/pids"].find((path) =>
    existsSync(join(path, "cgroup.procs")),
  );

  test(
    "the hook wait --then signals the container's first process in a shared process namespace, not the pod's",
    {
      skip: cgroups === undefined ? "needs a cgroup hierarchy" : false,
    },
    async (t) => {
      const folder = join(cgroups ?? "", `lameduck-test-${process.pid}`);
      try {
        mkdirSync(folder);
      } catch (error) {
        t.skip(`cannot make a cgroup: ${String(error)}`);
        return;
      }
      try {
        const pod = await witness("signals", "15");
        const enter = `echo 0 > ${folder}/cgroup.procs && exec "$0" "$@"`;
        const app = pod.exec("sh", "-c", enter, nativeProgram("witness"), "signals", "10");
        await app.line("ready");
        const hook = pod.exec("sh", "-c", enter, initProgram(), "wait", "--then", "USR1");
        assert.equal((await hook.ended).code, 0, hook.stderr);
        assert.equal((await app.ended).code, 0);
        assert.deepEqual(app.lines, ["ready", "10"]);
        assert.deepEqual(pod.main.lines, ["ready"]);
      } finally {
        endAll();
        await eventually(() => {
          try {
            rmdirSync(folder);
            return true;
          } catch {
            return false;
          }
        }, "the cgroup is empty");
      }
    },
  );
});

describe("a hook that is run more than once", { skip, concurrency: 3 }, () => {
  before(() => void initProgram());
  const flags = "wait --log json --policy fixed --delay 1s --floor 1s".split(" ");

  /** Runs a shell script beside a program; "$0" "$@" is the hook. */
  async function script(text: string): Promise<string> {
    const container = await witness("deaf", "80");
    const ended = await container.exec("sh", "-c", text, initProgram(), ...flags).ended;
    assert.match(ended.stdout, /left 0$/, ended.stderr);
    return ended.stderr;
  }
  /** What says when each hold began stays, for whoever might hold after it. */
  const left = "echo left $(ls /dev/shm | grep -vc ^lameduck-holder)";

  test("a second hook beside the first has what is left of the first one's time", async () => {
    const stderr = await script(`"$0" "$@" & sleep 0.5; "$0" "$@"; wait; ${left}`);
    const holds = reportsOf(stderr).map(({ hold_ms }) => hold_ms);
    assert.equal(holds.length, 2);
    assert.ok(Math.max(...holds) >= 1_000 && Math.min(...holds) < 1_000, stderr);
  });

  test("a hook after one that has ended belongs to another termination, and holds in full", async () => {
    const stderr = await script(`"$0" "$@"; "$0" "$@"; ${left}`);
    for (const { hold_ms } of reportsOf(stderr)) assert.ok(hold_ms >= 1_000, stderr);
  });

  test("a hook that was killed counts until its cap, and one with another cap does not count", async () => {
    const killed = `"$0" "$@" --cap 2s & sleep 0.3; kill -9 $!; wait`;
    const stderr = await script(`${killed}; "$0" "$@" --cap 5s; sleep 2; "$0" "$@" --cap 2s; ${left}`);
    const holds = reportsOf(stderr).map(({ hold_ms }) => hold_ms);
    assert.equal(holds.length, 2);
    for (const hold of holds) assert.ok(hold >= 1_000, stderr);
  });

  test("a hook after one that was killed waits for a file no longer than the first one's cap", async () => {
    const stderr = await script(
      `"$0" "$@" --cap 2s & sleep 1; kill -9 $!; wait; "$0" "$@" --cap 2s --wait-for /no/such/file; ${left}`,
    );
    assert.match(stderr, /waited for \/no\/such\/file in vain/);
    const { hold_ms } = reportOf(stderr);
    assert.ok(hold_ms < 1_700, stderr);
  });

  test("a file that others put at the path of the hook's record is not believed, and not waited for", async () => {
    const path = "/dev/shm/lameduck-holder-$(stat -Lc %i /proc/self/ns/mnt)-777";
    const record = "1 wait 1 $(cut -d' ' -f22 /proc/1/stat) 0 25000 1 0";
    const foreign = `echo ${record} > ${path} && chown 4242 ${path}`;
    for (const plant of [`mkfifo ${path}`, `ln -s /etc/hostname ${path}`, `echo 5 > ${path}`, foreign]) {
      const stderr = await script(`${plant}; "$0" "$@"; rm -f ${path}; ${left}`);
      assert.ok(reportOf(stderr).hold_ms >= 1_000, `${plant}: ${stderr}`);
    }
  });

  test("a hook without /dev/shm holds all the same", async () => {
    const stderr = await script(`umount /dev/shm; mount -t tmpfs -o ro none /dev/shm; "$0" "$@"; ${left}`);
    assert.ok(reportOf(stderr).hold_ms >= 1_000, stderr);
  });
});
