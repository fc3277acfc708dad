/** What counts as traffic: real connections from senders in network namespaces. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { initProgram, nativeProgram, sanitized, withoutCompiler } from "./compiled.ts";
import { Network } from "./network.ts";
import { go, pod, podBehind, reportOf, resultOf, tailOf, sender, terminate } from "./pod.ts";
import { Running, commandOf, descendantsOf, endAll, eventually, withoutNamespaces } from "./running.ts";

after(endAll);
const skip = withoutCompiler || withoutNamespaces;

// Each has namespaces of its own and little load.
describe("evidence", { skip, concurrency: 2 }, () => {
  before(() => void initProgram());

  test("connections that go on after SIGTERM are all served, and the hold ends soon after the last sender", async () => {
    await using network = await Network.create();
    const server = await pod(network, []);
    const senders = [1, 2, 3].map((index) =>
      sender(network, index, { every: 20, for: 1_500 + index * 1_000 }),
    );
    await go(...senders);
    terminate(server);
    for (const each of senders) assert.equal((await resultOf(each)).lost, 0);
    assert.equal((await server.ended).code, 0);
    const report = reportOf(server.stderr);
    assert.equal(report.reason, "quiet");
    assert.deepEqual(report.evidence, ["counters", "sockets", "tcp-info", "events"]);
    // 50 requests a second from each, for 2.5, 3.5 and 4.5 s; those of the first moments may have come before SIGTERM.
    assert.ok(report.connections > 400 && report.connections <= 525, `${report.connections} connections`);
    const tail = tailOf(report);
    assert.ok(tail > 100 && tail < 6_000, `stopped ${tail} ms after the last arrival`);
  });

  test("a pod without traffic is held no longer than the floor", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "300ms"]);
    terminate(server);
    await server.ended;
    const report = reportOf(server.stderr);
    assert.equal(report.reason, "idle");
    // The explanation names the floor's end only: the hold waited for nothing after it.
    assert.equal(report.explanation, "floor 0.3");
    assert.ok(report.hold_ms >= 300, `${report.hold_ms} ms`);
  });

  test("the hold waits for a request that is being worked on", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "0", "--convergence", "100ms"]);
    const slow = sender(network, 1, { every: 10_000, for: 100, delay: 3_000 });
    await go(slow);
    await server.line("working");
    terminate(server);
    assert.equal((await resultOf(slow)).lost, 0);
    await server.ended;
    assert.ok(reportOf(server.stderr).hold_ms > 1_500, server.stderr);
  });

  test("a hold waits for connections turned away for a full accept queue, as their clients try again in a second", async () => {
    await using network = await Network.create();
    const server = await pod(
      network,
      ["--floor", "0", "--policy", "quiet", "--window", "200ms"],
      "80",
      "0",
      "1",
    );
    const [program] = descendantsOf(server.pid).filter((pid) => commandOf(pid) === process.execPath);
    assert.ok(program);
    process.kill(program, "SIGSTOP");
    const crowd = [1, 2, 3].map((index) => sender(network, index, { every: 50, for: 50 }));
    await go(...crowd);
    await eventually(() => network.overflows() > 0, "the accept queue is full");
    terminate(server);
    process.kill(program, "SIGCONT");
    for (const each of crowd) assert.equal((await resultOf(each)).lost, 0);
    await server.ended;
    assert.ok(reportOf(server.stderr).hold_ms > 1_000, server.stderr);
  });

  test("a pool without new connections counts as traffic, and the hold ends when it falls silent", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "500ms"]);
    const pooled = sender(network, 1, { every: 10, for: 4_000, pooled: true });
    await go(pooled);
    await pause(800);
    terminate(server);
    assert.equal((await resultOf(pooled)).lost, 0);
    await server.ended;
    const report = reportOf(server.stderr);
    assert.ok(report.hold_ms > 2_500, server.stderr);
    assert.ok(report.connections < 15, "they were open before");
  });

  test("a pool that never falls silent is not waited for once its sender opens no connections any more", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "1s"]);
    // As behind one node: clients that connect anew, and clients that keep what they have, whatever the routing is.
    const fresh = sender(network, 1, { every: 20, for: 3_000 });
    const pool = sender(network, 1, { every: 25, for: 30_000, pooled: true });
    await go(fresh, pool);
    await server.line("served");
    terminate(server);
    assert.equal((await resultOf(fresh)).lost, 0);
    await server.ended;
    const report = reportOf(server.stderr);
    assert.equal(report.reason, "quiet");
    const tail = tailOf(report);
    assert.ok(tail < 11_000, `stopped ${tail} ms after the last new connection`);
  });

  test("a proxy that opens a connection now and then is judged by its requests, too", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "1s"]);
    const proxy = sender(network, 1, { every: 10, for: 4_000, pooled: true });
    const rare = sender(network, 1, { every: 1_500, for: 2_000 });
    await go(proxy, rare);
    await server.line("served");
    terminate(server);
    for (const each of [proxy, rare]) assert.equal((await resultOf(each)).lost, 0);
    await server.ended;
    const report = reportOf(server.stderr);
    // Two connections in two seconds would have to be waited for until the cap; a hundred requests a second that have ended would not.
    assert.equal(report.reason, "quiet", server.stderr);
  });

  test("the gaps of a young pod's first traffic are no habit of its senders", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "1s"]);
    const first = sender(network, 1, { every: 60_000, for: 1, patient: true });
    await go(first);
    await resultOf(first);
    await pause(3_000);
    const steady = sender(network, 1, { every: 20, for: 8_000, patient: true });
    await go(steady);
    // The gap must be over well before the middle of what is looked back on, also where a program takes a second to start.
    await pause(6_000);
    terminate(server);
    assert.equal((await resultOf(steady)).lost, 0);
    await server.ended;
    const report = reportOf(server.stderr);
    const tail = tailOf(report);
    // With a gap of 3 s that might come again it waits for 12 s.
    assert.ok(tail < 5_000, `stopped ${tail} ms after the last arrival`);
  });

  test("a connection that the client closed leaves no trace, and that is no gap in its sender's habit", async () => {
    const [traceless, silent] = await Promise.all([
      tailAfter({ hasty: true, every: 5, for: 3_000 }),
      tailAfter({ patient: true, every: 60_000, for: 3_000 }),
    ]);
    // A gap in which really none came might come again.
    assert.ok(traceless < 0.75 * silent, `${traceless} ms after the last arrival; ${silent} ms after a gap`);
  });

  test("a connection that ends while the past is read counts as later than the past", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "1s"]);
    // So many that the look takes milliseconds.
    const crowd = sender(network, 2, { every: 1, for: 3_000, idle: true });
    const fresh = sender(network, 1, { every: 2, for: 3_000, patient: true });
    const pool = sender(network, 1, { every: 25, for: 30_000, pooled: true });
    await go(crowd);
    await resultOf(crowd);
    await go(fresh, pool);
    await pause(2_800);
    terminate(server);
    assert.equal((await resultOf(fresh)).lost, 0);
    await server.ended;
    const report = reportOf(server.stderr);
    const tail = tailOf(report);
    // A pool whose sender seems to have opened nothing before would be waited for.
    assert.ok(tail < 10_000, `stopped ${tail} ms after the last new connection`);
  });

  test("hundreds of connections a second are all served and all counted", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "5s"]);
    const senders = [1, 2, 3].map((index) => sender(network, index, { every: 8, for: 4_000 }));
    // Only what comes during the hold is counted: it begins first.
    terminate(server);
    await server.says("hold-began");
    await go(...senders);
    let sent = 0;
    for (const each of senders) {
      const result = await resultOf(each);
      assert.equal(result.lost, 0);
      sent += result.sent;
    }
    await server.ended;
    const { connections } = reportOf(server.stderr);
    assert.ok(connections > sent * 0.9 && connections <= sent, `${connections} of ${sent}`);
  });

  test("a listener on a socket file of a volume counts as one", async () => {
    await using network = await Network.create();
    const volume = ["sh", "-c", 'mount -t tmpfs -o mode=777 none /mnt && exec "$@"', "volume"];
    const server = await podBehind(volume, network, ["--floor", "700ms"], "/mnt/socket");
    terminate(server);
    await server.ended;
    const report = reportOf(server.stderr);
    assert.equal(report.reason, "idle");
    assert.ok(report.hold_ms >= 700);
  });

  test("a hold needs hardly any memory", { skip: sanitized }, async () => {
    await using network = await Network.create();
    // 250 kB more than the program itself takes: not enough for tables of connections.
    const limit = ["prlimit", `--as=${leastAddressSpace(initProgram()) + 250_000}`];
    const flags = ["--log", "json", "--floor", "500ms", "--grace", "8s", "--reserve", "1s"];
    const [command, ...rest] = network.asPod(
      ...limit,
      initProgram(),
      ...flags,
      "--",
      nativeProgram("witness"),
      "deaf",
      "80",
    );
    const server = new Running(command, rest);
    await server.line("ready");
    const traffic = sender(network, 1, { every: 5, for: 1_000 });
    await go(traffic);
    server.kill("SIGTERM");
    assert.equal((await server.ended).code, 0);
    assert.ok(reportOf(server.stderr).hold_ms >= 500, server.stderr);
  });
});

/** Bytes of address space that a program needs to start: twice as many with glibc as with musl. */
function leastAddressSpace(program: string): number {
  let [tooLittle, enough] = [500_000, 16_000_000];
  while (enough - tooLittle > 50_000) {
    const bytes = Math.round((tooLittle + enough) / 2);
    if (spawnSync("prlimit", [`--as=${bytes}`, program, "--version"]).status === 0) enough = bytes;
    else tooLittle = bytes;
  }
  return enough;
}

/** The tail of a hold, ms, where a steady sender was interrupted by these orders before. */
async function tailAfter(interruption: Record<string, unknown>): Promise<number> {
  await using network = await Network.create();
  const server = await pod(network, ["--floor", "1s"]);
  const parts = [{ for: 5_000, patient: true }, interruption, { for: 3_000, patient: true }];
  const [before, between, steady] = parts.map((orders) => sender(network, 1, orders));
  assert.ok(before && between && steady);
  for (const part of [before, between]) {
    await go(part);
    await resultOf(part);
  }
  await go(steady);
  await pause(1_500);
  terminate(server);
  assert.equal((await resultOf(steady)).lost, 0);
  await server.ended;
  return tailOf(reportOf(server.stderr));
}
