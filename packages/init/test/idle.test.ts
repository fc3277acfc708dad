/** What waiting costs: a hold that has nothing left to see must sleep, however long it goes on. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { initProgram, nativeProgram, withoutCompiler } from "./compiled.ts";
import { Network } from "./network.ts";
import { go, pod, programAsPod, reportOf, resultOf, sender, terminate } from "./pod.ts";
import { commandOf, descendantsOf, endAll, Running, withoutNamespaces } from "./running.ts";

after(endAll);
const skip = withoutCompiler || withoutNamespaces;

/** How often the process has gone to sleep of its own accord. */
function sleepsOf(pid: number): number {
  return Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}

/** Polls without a wait are no sleep: they show as processor time, in hundredths of a second. */
function ticksOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return Number(fields[11]) + Number(fields[12]);
}

/** Bytes that it has read, from files of the kernel, too. */
function readBy(pid: number): number {
  return Number(/^rchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1]);
}

function initBelow(running: Running): number {
  const pid = [running.pid, ...descendantsOf(running.pid)].find((each) => commandOf(each) === initProgram());
  assert.ok(pid !== undefined, "the init runs");
  return pid;
}

/** Looks for two seconds: glances are due ten times a second. */
async function assertAtRest(pid: number): Promise<void> {
  const before = { sleeps: sleepsOf(pid), ticks: ticksOf(pid), at: performance.now() };
  await pause(2_000);
  const seconds = (performance.now() - before.at) / 1_000;
  const sleeps = (sleepsOf(pid) - before.sleeps) / seconds;
  const share = (ticksOf(pid) - before.ticks) / 100 / seconds;
  assert.ok(sleeps < 60, `${sleeps.toFixed(0)} wake-ups a second`);
  assert.ok(share < 0.1, `${(share * 100).toFixed(0)} % of a core`);
}

describe("at rest", { skip, concurrency: 3 }, () => {
  before(() => void initProgram());

  for (const flag of ["--wait-for", "--wait-gone"])
    test(`a hold that only waits for a file of ${flag} sleeps`, async () => {
      await using network = await Network.create();
      const path = flag === "--wait-for" ? "/no/such/file" : "/";
      const server = await pod(network, ["--floor", "200ms", flag, path, "-v"]);
      terminate(server);
      await server.says("holding until");
      // Past the floor, from where on there is nothing but the file to wait for.
      await pause(1_500);
      await assertAtRest(initBelow(server));
    });

  test("the end of a connection does not make the init read all counters of the kernel", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "6s", "-v"]);
    const busy = sender(network, 1, { every: 10, for: 4_000 });
    await go(busy);
    terminate(server);
    await server.says("holding until");
    const pid = initBelow(server);
    const before = { sleeps: sleepsOf(pid), read: readBy(pid), at: performance.now() };
    await pause(2_000);
    const seconds = (performance.now() - before.at) / 1_000;
    const [small, large] = ["snmp", "netstat"].map((name) => readFileSync(`/proc/net/${name}`).length);
    // The large file only ten times a second, and at a dump, of which there are as many while something is in flight.
    const most = (sleepsOf(pid) - before.sleeps) * small! + 25 * seconds * large!;
    const read = readBy(pid) - before.read;
    assert.ok(read <= most, `${read} bytes in ${seconds} s instead of ${most} at most`);
    assert.equal((await resultOf(busy)).lost, 0);
  });

  test("a thousand senders cost hardly more processor time than one", async () => {
    await using network = await Network.create();
    const flags = ["--floor", "8s", "--grace", "12s", "--reserve", "1s", "-v"];
    const server = programAsPod([], network, flags, [nativeProgram("witness"), "workers", "80", "1"]);
    await server.line("ready");
    const [command, ...rest] = network.asPod(nativeProgram("witness"), "senders", "80", "1000");
    await new Running(command, rest).line("ready");
    await pause(3_000);
    terminate(server);
    await server.says("holding");
    // What is known of the time before is read once, when the hold begins.
    await pause(500);
    const pid = initBelow(server);
    const [ticks, at] = [ticksOf(pid), performance.now()];
    await pause(4_000);
    const share = (ticksOf(pid) - ticks) / 100 / ((performance.now() - at) / 1_000);
    assert.ok(share < 0.15, `${(share * 100).toFixed(0)} % of a core`);
    await server.ended;
    assert.ok(reportOf(server.stderr).connections > 1_000, server.stderr);
  });

  test("a dry run as PID 1 writes at most one line a second while nothing listens, and sleeps", async () => {
    await using network = await Network.create();
    const isolated = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", initProgram()];
    const program = [nativeProgram("witness"), "signals", "15"];
    const [command, ...rest] = network.asPod(...isolated, "--dry-run", "--", ...program);
    const worker = new Running(command, rest);
    await worker.line("ready");
    await worker.says("nothing listens");
    const lines = (): number => worker.stderr.split("\n").length;
    const [earlier, at] = [lines(), performance.now()];
    await assertAtRest(initBelow(worker));
    const seconds = (performance.now() - at) / 1_000;
    assert.ok(lines() - earlier <= seconds + 1, `${lines() - earlier} lines in ${seconds.toFixed(1)} s`);
    assert.ok(lines() > earlier, "and goes on saying it");
    terminate(worker);
    assert.equal((await worker.ended).code, 0);
  });
});
