/** `lameduck-init wait`: the same decision from beside the program. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { initProgram, nativeProgram, withoutCompiler } from "./compiled.ts";
import { Network } from "./network.ts";
import { go, reportOf, resultOf, sender, serverFile } from "./pod.ts";
import { Running, endAll, withoutNamespaces } from "./running.ts";

after(endAll);
const skip = withoutCompiler || withoutNamespaces;

describe("wait", { skip, concurrency: 3 }, () => {
  // Compiling takes longer than the traffic of a test.
  before(() => void initProgram());

  async function plainServer(network: Network): Promise<Running> {
    const [command, ...rest] = network.asPod(process.execPath, serverFile, "80");
    const server = new Running(command, rest);
    await server.line("listening");
    return server;
  }

  function hook(network: Network, ...flags: string[]): Running {
    const [command, ...rest] = network.asPod(
      "unshare",
      "--mount",
      "sh",
      "-c",
      'mount -t tmpfs none /dev/shm && exec "$0" "$@"',
      initProgram(),
      "wait",
      "--log",
      "json",
      ...flags,
    );
    return new Running(command, rest);
  }

  test("the hook wait returns when traffic has gone, and leaves the server alone", async () => {
    await using network = await Network.create();
    await plainServer(network);
    const traffic = sender(network, 1, { every: 20, for: 3_000 });
    await go(traffic);
    await pause(500);
    const waiting = hook(network);
    assert.equal((await waiting.ended).code, 0);
    assert.equal((await resultOf(traffic)).lost, 0);
    const report = reportOf(waiting.stderr);
    assert.equal(report.reason, "quiet");
    assert.ok(report.hold_ms > 2_000, waiting.stderr);
  });

  test("the hook wait ends at once where nothing listens, as the app is dead", async () => {
    await using network = await Network.create();
    const waiting = hook(network, "--floor", "20s");
    assert.equal((await waiting.ended).code, 0);
    const report = reportOf(waiting.stderr);
    assert.equal(report.because, "nothing listens");
    assert.ok(report.hold_ms < 20_000, "it does not wait for the floor");
  });

  test("the hook wait ends where the app has accepted nothing for 20 s, as it hangs", async () => {
    await using network = await Network.create();
    const [command, ...rest] = network.asPod(nativeProgram("witness"), "deaf", "80");
    const deaf = new Running(command, rest);
    await deaf.line("ready");
    const probing = sender(network, 1, { every: 300, for: 1_500 });
    await go(probing);
    const waiting = hook(network, "--grace", "60s");
    assert.equal((await waiting.ended).code, 0);
    const report = reportOf(waiting.stderr);
    assert.match(report.because ?? "", /accepted no connection for 20s/);
    assert.ok(report.hold_ms >= 20_000 && report.hold_ms < 50_000, waiting.stderr);
  });
});
