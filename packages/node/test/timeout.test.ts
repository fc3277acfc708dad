import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { inPod, startServer } from "./child.ts";
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
});

test("in the hold no keep-alive time-out ends a connection just when its client sends", async () => {
  const keepAliveTimeout = 300;
  const other = createServer((_request, response) => response.end("ok\n")).listen(0, "127.0.0.1");
  other.keepAliveTimeout = keepAliveTimeout;
  const env = { ...inPod, LAMEDUCK_POLICY: "until-deadline", LAMEDUCK_CAP: "60s", LAMEDUCK_FLOOR: "50s" };
  await using child = await startServer({ keepAliveTimeout, options: { grace: "90s" } }, env);
  using idle = new RawClient(child.port).get("/");
  await idle.until(({ answers }) => answers === 1);
  child.kill();
  await child.until("lame-duck");
  using answered = new RawClient(child.port).get("/");
  await answered.until(({ answers }) => answers === 1);
  // A server of the same time-out tells when it is over, on whatever machine.
  using twin = new RawClient((other.address() as AddressInfo).port).get("/");
  await twin.until(({ ended }) => ended);
  other.close();
  for (const client of [idle, answered]) {
    client.get("/");
    await client.until(({ answers }) => answers === 2);
  }
});
