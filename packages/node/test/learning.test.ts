import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { lameduck, learn, type Learnt } from "../src/index.ts";
import { ask } from "./ask.ts";
import { inPod } from "./child.ts";

/** One termination of a pod that was asked `times` times, `idle` ms before. @returns how long it held, and what it taught. */
async function terminate(
  times: number,
  idle: number,
  learnt?: Learnt,
): Promise<{ hold: number; learnt: Learnt | undefined }> {
  const server = createServer((_request, response) => response.end("ok\n"));
  const environment = { ...inPod, LAMEDUCK_FLOOR: "0s", LAMEDUCK_CONVERGENCE: "400ms" };
  const quiet = { log: false, exit: false, signals: false, environment } as const;
  const duck = lameduck(server, { ...quiet, ...(learnt ? { learnt } : {}) });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  for (let count = 0; count < times; count++) await ask(port);
  await pause(idle);
  assert.equal(duck.lesson(), undefined, "nothing is taught before the hold is over");
  let hold = NaN;
  duck.on("closing", (event) => {
    if (event.phase === "closing") hold = event.hold;
  });
  await duck.terminate();
  const lesson = duck.lesson();
  return { hold, learnt: lesson && learn(learnt, lesson) };
}

test("what quick terminations teach shortens the hold of a pod that was asked once", async () => {
  let learnt: Learnt | undefined;
  // Busy pods whose senders were gone at once; their lessons add up.
  for (let count = 0; count < 8; count++) ({ learnt } = await terminate(300, 0, learnt));
  assert.equal(learnt?.terminations, 8);
  // Without the pause its rate, and the hold with it, would be how fast this machine answers.
  const before = await terminate(1, 300);
  const after = await terminate(1, 300, learnt);
  assert.ok(after.hold < 0.9 * before.hold, `${before.hold} ms before, ${after.hold} ms after`);
});

test("what is no lesson is a coded error of learn()", () => {
  for (const lesson of [null, undefined, [], [NaN], "lesson", {}])
    assert.throws(() => learn(null, lesson as never), {
      code: "LAMEDUCK_BAD_NUMBER",
      message: /^lesson: [^\n]+ is not what lesson\(\) gives, \d+ weights$/,
    });
});

test("a termination without traffic teaches nothing", async () => {
  assert.equal((await terminate(0, 0)).learnt, undefined);
});

test("what a store answers keeps no pod from starting: null is nothing, another version one line in the log", async () => {
  const told: string[] = [];
  const log = { warn: (line: string) => void told.push(line), info: () => {} };
  const options = { exit: false, signals: false, environment: {}, log } as const;
  const start = (learnt: unknown): Promise<unknown> =>
    lameduck(createServer(), { ...options, learnt: learnt as Learnt }).stop();
  await start(null);
  assert.deepEqual(told, []);
  const { learnt: taught } = await terminate(3, 0);
  assert.ok(taught);
  for (const learnt of [
    { terminations: 3, weights: [1] },
    { ...taught, version: taught.version + 1 },
  ]) {
    await start(learnt);
    assert.match(
      told.splice(0).join(),
      /^[^\n]*learnt: is of version \w+; this release reads version \d+; it is ignored/,
    );
  }
});
