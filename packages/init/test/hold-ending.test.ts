/** What ends a hold besides silence, and what is sent then. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { initProgram, nativeProgram, withoutCompiler } from "./compiled.ts";
import { Network } from "./network.ts";
import { go, pod, programAsPod, reportOf, resultOf, sender, terminate } from "./pod.ts";
import { Running, descendantsOf, endAll, withoutNamespaces } from "./running.ts";

after(endAll);
const skip = withoutCompiler || withoutNamespaces;

describe("ending", { skip, concurrency: 4 }, () => {
  before(() => [initProgram(), nativeProgram("witness")]);

  test("traffic without end is served until the cap, and not longer", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--grace", "4s", "--reserve", "1s"]);
    const endless = sender(network, 1, { for: 60_000 });
    await go(endless);
    terminate(server);
    await server.ended;
    const report = reportOf(server.stderr);
    assert.equal(report.reason, "cap");
    assert.ok(report.unmet.includes("silence"), server.stderr);
    assert.match(report.explanation, /still waiting for/);
    assert.ok(report.hold_ms >= 3_000 && report.hold_ms < 4_000, `${report.hold_ms} ms`);
  });

  test("a server with one worker and 4 s for a request loses none of the requests that wait in its queue", async () => {
    await using network = await Network.create();
    const server = programAsPod([], network, [], [nativeProgram("witness"), "slow", "80", "4000"]);
    await server.line("ready");
    // Four within 40 ms: one is worked at, three are in the accept queue, which shrinks every 4 s.
    const clients = sender(network, 1, { every: 10, for: 40 });
    await go(clients);
    await server.line("working");
    terminate(server);
    assert.deepEqual(await resultOf(clients), { sent: 4, lost: 0 });
    await server.ended;
    const report = reportOf(server.stderr);
    assert.notEqual(report.reason, "forced", server.stderr);
    assert.ok(report.hold_ms > 12_000, server.stderr);
  });

  test("a SIGINT ends the hold, and a second SIGTERM does not", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "20s", "-v"]);
    terminate(server);
    await server.says("holding until");
    terminate(server);
    await server.says("came again; it changes nothing");
    terminate(server, "SIGINT");
    assert.equal((await server.ended).code, 0);
    const report = reportOf(server.stderr);
    assert.equal(report.reason, "forced");
    assert.equal(report.because, "SIGINT");
  });

  test("a SIGTERM with --signal TERM=USR1 is held, and sent as SIGUSR1", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "200ms", "--signal", "TERM=USR1"]);
    terminate(server);
    assert.equal((await server.ended).code, 10);
    assert.match(server.stderr, /sending SIGUSR1/);
  });

  test("an image with STOPSIGNAL QUIT is held on that signal with --stop-signal QUIT", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "200ms", "--stop-signal", "QUIT", "--signal", "QUIT=TERM"]);
    terminate(server, "SIGQUIT");
    assert.equal((await server.ended).code, 0);
    assert.equal(reportOf(server.stderr).reason, "idle");
  });

  test("a program that listens nowhere is told at once", async () => {
    await using network = await Network.create();
    const [command, ...rest] = network.asPod(
      initProgram(),
      "--log",
      "json",
      "--",
      nativeProgram("witness"),
      "signals",
      "15",
    );
    const worker = new Running(command, rest);
    await worker.line("ready");
    worker.kill("SIGTERM");
    assert.equal((await worker.ended).code, 0);
    assert.equal(reportOf(worker.stderr).because, "nothing listens");
  });

  test("a program that ends by itself ends the hold, and its exit code is passed on", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "20s", "-v"]);
    terminate(server);
    await server.says("holding until");
    const child = descendantsOf(server.pid).at(-1)!;
    process.kill(child, "SIGKILL");
    assert.equal((await server.ended).code, 137);
    assert.match(reportOf(server.stderr).because ?? "", /ended by itself/);
  });
});
