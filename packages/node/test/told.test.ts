/** Workers of a cluster end as their primary's own handlers tell them, once their hold is over. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ask } from "./ask.ts";
import { fixture, inPod, startScript, type Child } from "./child.ts";

const register = new URL("../src/register.ts", import.meta.url).href;
const holding = { ...inPod, LAMEDUCK_POLICY: "fixed", LAMEDUCK_DELAY: "300ms" };

const start = (way: string, env: Record<string, string> = {}, options = ""): Promise<Child> =>
  startScript(
    [fixture("told.mjs")],
    { ...env, WAY: way, NODE_OPTIONS: `${options} --import ${register}` },
    ({ stdout, ports }) => ports.length > 0 && stdout.includes("has jobs"),
  );

const lines = ({ stdout }: Child): string[] =>
  stdout.split("\n").filter((line) => /^(?:finishes|cleaned up|ended with)/.test(line));

/** And what each of the two workers says that it finishes for. Of SIGTERM no other handler than its own is there. */
const ways = { message: "message", disconnect: "disconnect", SIGUSR2: "SIGUSR2", SIGTERM: "SIGTERM 0" };

describe("a primary with a handler", { concurrency: 2 }, () => {
  for (const [way, why] of Object.entries(ways))
    test(`a primary with a handler tells its workers by ${way} when their hold is over`, async () => {
      await using child = await start(way, holding);
      child.kill();
      assert.equal((await child.exited).code, 0);
      // All write to one pipe.
      assert.ok(child.stderr.lastIndexOf('"closing"') < child.stderr.indexOf("primary told"), child.stderr);
      const each = [`finishes: ${why}`, "cleaned up", "ended with 0"];
      assert.deepEqual(lines(child).toSorted(), [...each, ...each].toSorted());
    });

  test("a primary with a handler tells them at once where Node has no way to have them hold", async () => {
    const env = { ...holding, WITHOUT: "internalMessage" };
    await using child = await start("message", env, `--import ${fixture("without.mjs")}`);
    child.kill();
    assert.equal((await child.exited).code, 0);
    assert.ok(
      child.events.every(({ pid }) => pid === child.process.pid),
      child.stderr,
    );
    const each = ["finishes: message", "cleaned up", "ended with 0"];
    assert.deepEqual(lines(child).toSorted(), [...each, ...each].toSorted());
  });

  test("a primary with a handler that exits tells them nothing: they finish what is in flight, and their primary waits", async () => {
    await using child = await start("exit");
    const answer = ask(child.port, "/", undefined, { "x-wait": "1500" });
    // It is in flight once a later one has been answered.
    await ask(child.port);
    child.kill();
    assert.equal((await answer).status, 200);
    assert.equal((await child.exited).code, 3);
    assert.deepEqual(lines(child), ["ended with 0"]);
  });

  test("a primary with a handler that says nothing leaves a worker that has got the signal itself to the signal", async () => {
    await using child = await start("nothing");
    child.kill();
    await child.until(() => child.stderr.includes("primary told"));
    const ofWorker = (): number | undefined => child.events.find(({ pid }) => pid !== child.process.pid)?.pid;
    await child.until(() => ofWorker() !== undefined);
    assert.equal((await ask(child.port)).status, 200, "it serves on");
    process.kill(ofWorker()!, "SIGTERM");
    await child.until(() => child.stdout.includes("ended with SIGTERM"));
  });
});
