/** A container, as its first process, its hooks and a command in it find it. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { initProgram } from "./compiled.ts";
import { childrenOf, Running } from "./running.ts";

/** Its program as PID 1, with a network and a /dev/shm of its own, and a pipe as log, as runtimes give it. */
export class Container {
  readonly main: Running;
  /** Its lines are what `kubectl logs` would show. */
  readonly log: Running;

  constructor(...program: string[]) {
    const folder = mkdtempSync(join(tmpdir(), "lameduck-log-"));
    const pipe = join(folder, "log");
    execFileSync("mkfifo", [pipe]);
    // Opened for both, as opening for one waits for the other.
    const descriptor = openSync(pipe, "r+");
    this.log = new Running("cat", [pipe]);
    const mounted = 'mount -t tmpfs none /dev/shm && ip link set lo up && exec "$0" "$@"';
    const isolate = "--pid --net --mount --fork --mount-proc --kill-child sh -c".split(" ");
    this.main = new Running("unshare", [...isolate, mounted, ...program], {
      stdio: ["ignore", "pipe", descriptor],
    });
    void this.main.ended.finally(() => {
      closeSync(descriptor);
      rmSync(folder, { recursive: true });
    });
  }

  /** To its first process, from outside, as a runtime does. */
  signal(name: NodeJS.Signals): void {
    const [first] = childrenOf(this.main.pid);
    assert.ok(first, "PID 1 runs");
    process.kill(first.pid, name);
  }

  /** From outside, as a runtime does: what runs inside has no parent there. */
  exec(...command: string[]): Running {
    const [first] = childrenOf(this.main.pid);
    assert.ok(first, "PID 1 runs");
    return new Running("nsenter", ["-t", String(first.pid), "--pid", "--net", "--mount", "--", ...command]);
  }

  hook(...flags: string[]): Running {
    return this.exec(initProgram(), "wait", "--log", "json", ...flags);
  }
}
