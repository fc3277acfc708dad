/** What is recorded of a hold, and what its last line says of it. */
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { parseTrace, replay } from "@lameduck/drain";
import { initProgram, withoutCompiler } from "./compiled.ts";
import { Network } from "./network.ts";
import { go, pod, podBehind, reportOf, resultOf, sender, terminate } from "./pod.ts";
import { endAll, run, withoutNamespaces, type Running } from "./running.ts";

after(endAll);
const skip = withoutCompiler || withoutNamespaces;
const volume = mkdtempSync(join(tmpdir(), "lameduck-trace-"));
chmodSync(volume, 0o777);
after(() => rmSync(volume, { recursive: true }));

/** Two senders before and in the hold, the slower one a second longer. */
async function held(network: Network, server: Running): Promise<void> {
  const before = [sender(network, 1, { patient: true }), sender(network, 2, { patient: true, every: 200 })];
  await go(...before);
  for (const each of before) await resultOf(each);
  const meanwhile = [
    sender(network, 1, { patient: true, for: 500 }),
    sender(network, 2, { patient: true, every: 200, for: 1_500 }),
  ];
  for (const each of meanwhile) await each.line("ready");
  terminate(server);
  await go(...meanwhile);
  await server.ended;
}

describe("a recording", { skip, concurrency: 3 }, () => {
  before(() => void initProgram());

  test("a recording fed to the decision in TypeScript stops at the same moment, and names the same sender", async () => {
    await using network = await Network.create();
    const path = join(volume, "hold.jsonl");
    const server = await pod(network, ["--trace", path, "--loss-budget", "0.01"]);
    await held(network, server);
    const report = reportOf(server.stderr);
    const trace = parseTrace(readFileSync(path, "utf8"), path);
    assert.equal(trace.header.on, "SIGTERM");
    assert.deepEqual(trace.unknown, []);
    const { stop, recordedStop, reason, length, timeline } = replay(trace);
    assert.equal(reason, report.reason, server.stderr);
    assert.ok(Math.abs(length - report.hold_ms) < 20, `${length} and ${report.hold_ms}`);
    assert.equal(stop, recordedStop);
    // Which of them it is depends on how evenly a busy machine lets them send.
    assert.match(report.waited_for ?? "", /^198\.18\.1\.[12]$/);
    assert.equal(timeline.sender?.sender, report.waited_for, server.stderr);
    assert.match(
      server.stderr,
      /held for [\d.]+m?s, quiet: floor 1\.0, 198\.18\.1\.[12] \([\d.]+\/s before, silent [\d.]+ s\) until [\d.]+;/,
    );
  });

  test("a process that stood still tells the floor's end by its own time", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--cap", "10s"]);
    terminate(server);
    await server.until(() => server.stderr.includes('"event":"hold-began"'));
    terminate(server, "SIGSTOP");
    await setTimeout(1_600);
    terminate(server, "SIGCONT");
    await server.ended;
    const { explanation, hold_ms } = reportOf(server.stderr);
    assert.ok(hold_ms > 1_500, server.stderr);
    assert.match(explanation, /^floor 1\.0(?:,|$)/, server.stderr);
  });

  test("a recording that cannot be written costs one line, and the hold is as without it", async () => {
    await using network = await Network.create();
    const strange = join(volume, "strange");
    writeFileSync(strange, "precious\n");
    chmodSync(strange, 0o666);
    const link = join(volume, "link");
    symlinkSync(strange, link);
    for (const [path, problem] of [
      [strange, /holds something else and is left as it is/],
      [link, /is no regular file and is left as it is/],
      [join(volume, "absent/hold.jsonl"), /No such file or directory/],
    ] as const) {
      const server = await pod(network, ["--trace", path, "--policy", "fixed", "--delay", "2s"]);
      terminate(server);
      assert.equal((await server.ended).code, 0);
      assert.match(server.stderr, problem);
      assert.equal(server.stderr.split("no recording").length, 2, server.stderr);
      assert.equal(reportOf(server.stderr).reason, "delay");
    }
    assert.equal(readFileSync(strange, "utf8"), "precious\n");
  });

  test("a full disk and a read-only root cost the recording and nothing else", async () => {
    await using network = await Network.create();
    for (const [options, problem] of [
      ["size=4k,mode=777", /no recording: No space left on device/],
      ["ro", /Read-only file system/],
    ] as const) {
      const mounted = ["sh", "-c", `mount -t tmpfs -o ${options} none ${volume} && exec "$@"`, "sh"];
      const before = ["unshare", "--mount", ...mounted];
      const server = await podBehind(before, network, ["--trace", join(volume, "x.jsonl"), "--cap", "3s"]);
      await held(network, server);
      assert.match(server.stderr, problem);
      assert.equal(server.stderr.split("no recording").length, 2, server.stderr);
      assert.ok(reportOf(server.stderr).hold_ms >= 1_000);
    }
  });

  test(
    "the path of a recording that is not absolute is refused, as by the library",
    { skip: withoutCompiler },
    async () => {
      const { code, stderr } = await run(initProgram(), ["--trace", "hold.jsonl", "--", "true"]);
      assert.equal(code, 2);
      assert.match(stderr, /LAMEDUCK_BAD_CHOICE: --trace: "hold.jsonl" is not an absolute path/);
    },
  );
});
