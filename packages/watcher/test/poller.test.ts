import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { until } from "../../cluster/test/operator-api.ts";
import { Poller } from "../src/poller.ts";

test("a consumer that cannot be read is looked at again in one round, however often somebody asks for a look", async () => {
  let looks = 0;
  const poller = new Poller(
    {
      kind: "http",
      basis: "state",
      stillUsed: (_addresses, signal) => {
        looks++;
        if (looks <= 3) return Promise.reject(new Error("not there"));
        // The look of the round goes on, so that only another round would add one.
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
    },
    () => undefined,
  );
  for (let times = 0; times < 3; times++) await poller.check();
  await until(() => looks > 3, "the look of the round");
  await delay(50);
  assert.equal(looks, 4);
  await poller.stop();
});
