import assert from "node:assert/strict";
import { test } from "node:test";
import { startServer } from "./child.ts";
import { RawClient } from "./raw.ts";

test("the time-out ends a termination long before the grace period, whatever hangs", async () => {
  await using child = await startServer({
    options: { timeout: "3s", policy: "until-deadline" },
    hooks: [
      ["lame-duck", "leave", "hangs"],
      ["closing", "queue", "hangs"],
      ["closed", "database", "hangs"],
    ],
    ownHandler: "log",
  });
  using hanging = new RawClient(child.port).get("/hang");
  await hanging.until(({ answers }) => answers === 1);
  child.kill();
  assert.equal((await child.exited).code, 0);
  const begun = child.events.find((event) => event.lameduck === "phase" && event.phase === "lame-duck");
  assert.ok(begun?.lameduck === "phase" && begun.phase === "lame-duck");
  assert.equal(begun.cap, 2_000);
  const left = begun.deadline - begun.at + begun.late;
  assert.ok(Math.abs(left - 3_000) <= 1, `${left}: rounded`);
  const closed = child.event("closed");
  assert.equal(closed?.reason, "deadline");
  assert.equal(closed.cut.requests, 1);
  // Without it the hold alone would have taken 25 s.
  assert.ok(closed.elapsed < 20_000, `${closed.elapsed}`);
});
