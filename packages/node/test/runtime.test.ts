import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { test } from "node:test";
import { Child, cleanEnvironment, fixture, inPod } from "./child.ts";

const bun = spawnSync("bun", ["--version"], { encoding: "utf8" }).stdout?.trim();

test(
  "Bun is told to be unsupported, and ends as without us",
  { skip: !bun && "there is no bun" },
  async () => {
    const env = cleanEnvironment({ ...inPod, FIXTURE: "{}" });
    const args = [fixture("server.ts")];
    await using child = new Child(spawn("bun", args, { env, stdio: "pipe" }));
    await child.until(() => child.ports.length > 0);
    child.kill();
    assert.equal((await child.exited).signal, "SIGTERM");
    assert.match(
      child.stderr,
      new RegExp(`^[^\n]*Bun ${bun} is not supported: it runs as without Lameduck"}\n$`),
    );
  },
);
