import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";

const ruleChanges = join(import.meta.dirname, "..", "src", "kube-proxy", "rule-changes.ts");

/** Runs a text in a process that has `changes`. */
function inProcess(text: string): { readonly output: string; readonly errors: string } {
  const whole = `import { openSync } from "node:fs";
    import { RuleChanges } from ${JSON.stringify(ruleChanges)};
    const changes = new RuleChanges();
    const end = AbortSignal.timeout(10_000);
    ${text}
    await changes.after(performance.now(), end);
    await new Promise(setImmediate);
    process.stdout.write(end.aborted ? "waited" : "went on");
    process.exit();`;
  const shell = `ulimit -n 100; exec "$0" --input-type=module -e "$1"`;
  const { stdout, stderr } = spawnSync("/bin/sh", ["-c", shell, process.execPath, whole], {
    encoding: "utf8",
  });
  return { output: stdout, errors: stderr };
}

describe("the watch for changes of rules", () => {
  it("the watcher does without the watch for changes of rules where no file descriptor is free", () => {
    const { output, errors } = inProcess(`try { for (;;) openSync("/dev/null"); } catch {}`);
    assert.equal(output, "went on", errors);
  });

  it("the watcher does without the watch for changes of rules where no program can be started", () => {
    // An environment that the kernel refuses: spawn throws as it does without memory.
    const { output, errors } = inProcess(`process.env.LONG = "x".repeat(2 ** 18);`);
    assert.equal(output, "went on", errors);
  });
});
