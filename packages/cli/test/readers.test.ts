import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, openSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";

const program = join(import.meta.dirname, "..", "bin", "lameduck.js");
const simulate = "simulate --senders busy-iptables:50 --terminations 2 --rps 200 --json -".split(" ");

for (const gone of ["stderr", "stdout"] as const)
  test(`a run goes on when the reader of its ${gone} has gone`, async () => {
    const child = spawn(process.execPath, [program, ...simulate], { stdio: ["ignore", "pipe", "pipe"] });
    child[gone].destroy();
    const other = gone === "stderr" ? child.stdout : child.stderr;
    let text = "";
    other.setEncoding("utf8").on("data", (part: string) => (text += part));
    const [code] = (await once(child, "close")) as [number | null];
    assert.equal(code, 0, text);
    if (gone === "stderr") assert.equal((JSON.parse(text) as { terminations: number }).terminations, 2);
    else assert.doesNotMatch(text, /EPIPE/);
  });

const full = "/dev/full";
test(
  "a full disk behind stdout is said in a line, and is no verdict",
  { skip: !existsSync(full) },
  async () => {
    const args = [program, "simulate", "--terminations", "5", "--json", "-"];
    const child = spawn(process.execPath, args, { stdio: ["ignore", openSync(full, "w"), "pipe"] });
    let text = "";
    child.stderr?.setEncoding("utf8").on("data", (part: string) => (text += part));
    const [code] = (await once(child, "close")) as [number | null];
    assert.match(text, /^error stdout: no space left on device \[LAMEDUCK_CANNOT_WRITE\]; [^\n]+\n$/m);
    assert.doesNotMatch(text, /\n {4}at /);
    assert.equal(code, 2);
  },
);
