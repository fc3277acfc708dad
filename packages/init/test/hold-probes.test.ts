/** What is no traffic, though it connects. */
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { initProgram, withoutCompiler } from "./compiled.ts";
import { Network, senderAddress } from "./network.ts";
import { go, pod, reportOf, resultOf, sender, terminate } from "./pod.ts";
import { endAll, withoutNamespaces } from "./running.ts";

after(endAll);
const folder = mkdtempSync(join(tmpdir(), "lameduck-probes-"));
chmodSync(folder, 0o777);
after(() => rmSync(folder, { recursive: true }));
const skip = withoutCompiler || withoutNamespaces;

describe("probes", { skip, concurrency: 3 }, () => {
  before(() => void initProgram());

  test("probes from an address named by --ignore-peer are no traffic", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "1s", "--ignore-peer", `${senderAddress(1)}/32`]);
    const prober = sender(network, 1, { every: 200, for: 20_000 });
    await go(prober);
    await pause(500);
    terminate(server);
    await server.ended;
    const report = reportOf(server.stderr);
    assert.equal(report.connections, 0, server.stderr);
    assert.equal(report.reason, "idle", server.stderr);
  });

  test("a prober that begins with the hold is forgotten once it is recognised as one", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "1s"]);
    const prober = sender(network, 1, { every: 1_000, for: 40_000, patient: true });
    await prober.line("ready");
    terminate(server);
    await server.says("hold-began");
    await go(prober);
    await server.ended;
    const report = reportOf(server.stderr);
    // The prober goes on for longer than the cap: as a sender it would hold the pod to it.
    assert.equal(report.reason, "quiet", server.stderr);
  });

  test("a node that sends traffic and probes from one address counts by its traffic only", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "1s"]);
    const traffic = sender(network, 1, { every: 200, for: 5_000 });
    const prober = sender(network, 1, { every: 1_000, for: 40_000, patient: true });
    await go(traffic, prober);
    terminate(server);
    assert.equal((await resultOf(traffic)).lost, 0);
    await server.ended;
    const report = reportOf(server.stderr);
    // Were the probes traffic, the node would seem to come once a second, which holds the pod to its cap.
    assert.equal(report.reason, "quiet", server.stderr);
  });

  test("a prober whose period is configured holds no young pod to its cap", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "1s", "--probe-period", "8s"]);
    const prober = sender(network, 1, { every: 8_000, for: 60_000, patient: true });
    await go(prober);
    await server.line("working");
    await pause(500);
    terminate(server);
    await server.ended;
    const report = reportOf(server.stderr);
    assert.notEqual(report.reason, "cap", server.stderr);
  });

  test("a sender taken for a prober by chance is a sender again once it comes between two probes", async (t) => {
    await using network = await Network.create();
    const trace = join(folder, "trace");
    const flags = ["--floor", "20s", "--probe-period", "10s", "--trace", trace];
    const server = await pod(network, flags);
    const client = sender(network, 1, { every: 10_000, for: 10_500, patient: true });
    const again = sender(network, 1, { every: 1_000, for: 100, patient: true });
    await again.line("ready");
    terminate(server);
    await go(client);
    await resultOf(client);
    await pause(500);
    await go(again);
    await resultOf(again);
    terminate(server, "SIGINT");
    await server.ended;
    const lines = readFileSync(trace, "utf8").trim().split("\n");
    const records = lines.map((line) => JSON.parse(line) as { type?: string; at: number });
    const [one, two, ...rest] = records.filter(({ type }) => type === "arrival" || type === "forgotten");
    assert.ok(one && two);
    if (two.type === "arrival") {
      const off = Math.abs(two.at - one.at - 10_000);
      assert.ok(off > 100, "two that are 10 s apart were not taken for probes");
      return t.skip(`the machine is busy: the second came ${off.toFixed()} ms too early or too late`);
    }
    const types = [one, two, ...rest].map(({ type }) => type);
    assert.deepEqual(types, ["arrival", "forgotten", "forgotten", "arrival", "arrival", "arrival"]);
  });
});
