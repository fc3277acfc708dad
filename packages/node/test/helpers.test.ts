/** Processes that inherit the options by which Node loads us, and serve only the process that has started them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ask } from "./ask.ts";
import { fixture, inPod, startScript, type Child } from "./child.ts";

const skip = process.platform !== "linux" && "only Linux tells which process listens";
const register = new URL("../src/register.ts", import.meta.url).href;

function start(env: Record<string, string> = {}): Promise<Child> {
  return startScript([fixture("helped.mjs")], {
    ...inPod,
    NODE_OPTIONS: `--import ${register}`,
    LAMEDUCK_FLOOR: "3s",
    ...env,
  });
}

test("a helper that its parent replaces ends by the signal, without a hold", { skip }, async () => {
  // With a hold nobody would wait for its end.
  await using child = await start({ LAMEDUCK_GRACE_PERIOD: "20m", LAMEDUCK_FLOOR: "10m" });
  child.process.stdin.write("replace\n");
  await child.until(() => child.stdout.includes("helper ended"));
  assert.match(child.stdout, /helper ended SIGTERM/);
  child.kill("SIGKILL");
});

test("where both get the signal, the helper stays as long as its parent holds", { skip }, async () => {
  await using child = await start();
  child.kill();
  // A helper looks once, after 100 ms. Its parent may need longer to begin on a busy machine.
  await child.until("lame-duck");
  process.kill(Number(/helper (\d+)/.exec(child.stdout)?.[1]));
  const until = performance.now() + 1_500;
  while (performance.now() < until) assert.equal((await ask(child.port)).status, 200);
  assert.doesNotMatch(child.stdout, /helper ended/);
  child.kill("SIGKILL");
});
