import assert from "node:assert/strict";
import { test } from "node:test";
import { ServerClock } from "../src/index.ts";

test("a clock that is set back during a request is forgotten with the next answer", () => {
  const clock = new ServerClock();
  // 1.1 s back between question and answer: its bounds exclude each other.
  clock.note({ server: 0, sent: 0, received: -1_100 });
  clock.note({ server: 0, sent: -200, received: -195 });
  assert.deepEqual(clock.offset, { milliseconds: 697.5, within: 502.5, samples: 2 });
});

test("each answer narrows the clock difference down, until one contradicts it", () => {
  const clock = new ServerClock();
  clock.note({ server: 5_000, sent: 100, received: 120 });
  clock.note({ server: 6_000, sent: 700, received: 710 });
  assert.deepEqual(clock.offset, { milliseconds: 5_595, within: 305, samples: 2 });
  clock.note({ server: 100_000, sent: 800, received: 810 });
  assert.deepEqual(clock.offset, { milliseconds: 99_695, within: 505, samples: 3 });
});
