/** Order among the containers of a pod. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { initProgram, withoutCompiler } from "./compiled.ts";
import { Network } from "./network.ts";
import { reportOf, serverFile } from "./pod.ts";
import { Running, endAll, withoutNamespaces } from "./running.ts";

afterEach(endAll);
const skip = withoutCompiler || withoutNamespaces;

describe("order among containers", { skip }, () => {
  test("a proxy with --wait-for outlives the app after traffic has gone, until the app's --done-file is there", async () => {
    await using network = await Network.create();
    const folder = mkdtempSync(join(tmpdir(), "lameduck-order-"));
    try {
      const done = join(folder, "app.done");
      const ready = join(folder, "app.ready");
      writeFileSync(done, "left by an earlier run");
      const start = (...flags: string[]): Running => {
        const [command, ...rest] = network.asPod(
          initProgram(),
          "--log",
          "json",
          "--floor",
          "300ms",
          ...flags,
          "--",
          process.execPath,
          serverFile,
        );
        return new Running(command, [...rest, flags.includes("--done-file") ? "81" : "80"]);
      };
      const app = start("--done-file", done, "--ready-file", ready);
      await app.line("listening");
      assert.ok(!existsSync(done), "what an earlier run left is gone");
      const proxy = start("--wait-for", done);
      await proxy.line("listening");
      proxy.kill("SIGTERM");
      await pause(1_000);
      assert.equal(proxy.process.exitCode, null, "still there");
      app.kill("SIGTERM");
      assert.equal((await app.ended).code, 0);
      assert.ok(existsSync(done) && existsSync(ready));
      assert.equal((await proxy.ended).code, 0);
      assert.ok(reportOf(proxy.stderr).hold_ms >= 1_000);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("a --wait-for in vain is bounded and reported, and the hook exits with 1", async () => {
    await using network = await Network.create();
    const [serverCommand, ...serverRest] = network.asPod(process.execPath, serverFile, "80");
    await new Running(serverCommand, serverRest).line("listening");
    const [command, ...rest] = network.asPod(
      initProgram(),
      "wait",
      "--floor",
      "0",
      "--wait-for",
      "/no/such/file",
      "--order-timeout",
      "700ms",
      "--dry-run",
    );
    const waiting = new Running(command, rest);
    assert.equal((await waiting.ended).code, 1);
    assert.match(waiting.stderr, /waited for \/no\/such\/file in vain/);
  });
});
