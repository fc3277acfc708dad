/** Which listening sockets are watched: however many there are, and where --port names one that nobody listens on. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { initProgram, nativeProgram, withoutCompiler } from "./compiled.ts";
import { Network } from "./network.ts";
import { go, pod, programAsPod, reportOf, resultOf, sender, terminate } from "./pod.ts";
import { endAll, Running, withoutNamespaces } from "./running.ts";

after(endAll);
const skip = withoutCompiler || withoutNamespaces;

describe("listeners", { skip, concurrency: 4 }, () => {
  before(() => [initProgram(), nativeProgram("witness")]);

  // The kernel lists them in an order of its own, so that either port may come last.
  for (const [port, other] of [
    ["80", "81"],
    ["81", "80"],
  ] as const)
    for (const flags of [["--port", port], []])
      test(`the init watches 600 workers on port ${port} beside 600 of another container on port ${other}, with ${flags.join(" ") || "no flag"}`, async () => {
        await using network = await Network.create();
        const [command, ...rest] = network.asPod(nativeProgram("witness"), "workers", other, "600");
        await new Running(command, rest).line("ready");
        const server = programAsPod([], network, flags, [nativeProgram("witness"), "workers", port, "600"]);
        await server.line("ready");
        const traffic = sender(network, 1, { to: `${network.pod}:${port}`, every: 20, for: 2_500 });
        await go(traffic);
        await server.line("working");
        terminate(server);
        assert.equal((await resultOf(traffic)).lost, 0, server.stderr);
        await server.ended;
        const report = reportOf(server.stderr);
        assert.equal(report.reason, "quiet", server.stderr);
        assert.ok(report.connections > 50, server.stderr);
      });

  test("the log says where nobody listens on --port, and the program's own ports are watched", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--port", "8081"]);
    const traffic = sender(network, 1, { every: 20, for: 2_000 });
    await go(traffic);
    await server.line("served");
    terminate(server);
    assert.equal((await resultOf(traffic)).lost, 0, server.stderr);
    await server.ended;
    assert.match(server.stderr, /"level":"warning".*nothing listens on --port 8081/);
    assert.equal(reportOf(server.stderr).reason, "quiet");
  });

  test("a program that listens nowhere is not held in spite of --port, and the log says why", async () => {
    await using network = await Network.create();
    const program = [nativeProgram("witness"), "signals", "15"];
    const worker = programAsPod([], network, ["--port", "8081"], program);
    await worker.line("ready");
    terminate(worker);
    await worker.ended;
    assert.equal(reportOf(worker.stderr).because, "nothing listens");
  });
});
