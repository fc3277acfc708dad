import assert from "node:assert/strict";
import { test } from "node:test";
import { account, random, type RemedyResult, type RequestRecord, verdictOf } from "../src/index.ts";
import { binomialTail } from "../src/statistics.ts";
import { meta } from "./accounting-causes.ts";
import { ordinary, podLife, recording, request, senderEvents } from "./accounting-recording.ts";

/** Two old pods, of which one is deleted at 10 s and served until 12 s, and a new one. */
const podEvents = [
  ...podLife("web-1", { ...ordinary, closed: 11_990 }),
  ...podLife("web-2", { created: 0, opened: 500, ready: 1_000 }),
  ...podLife("web-3", { created: 8_000, opened: 9_000, ready: 9_500 }),
];
const choices = senderEvents("node-1", { "web-1": [1_050, 11_000], "web-2": [1_050], "web-3": [9_500] });

type Fails = (at: number, pod: string, chance: number) => boolean;

/** A request each 5 ms from 1.1 s to 18 s. `known` pods are named in the records. */
function run(
  seed: number,
  fails: Fails,
  { outcome = "bad-status", status = 500, known = true } = {},
): RemedyResult {
  const source = random(seed, "test");
  const records: RequestRecord[] = [];
  for (let at = 1_100; at < 18_000; at += 5) {
    const pods = [...(at < 11_000 ? ["web-1"] : []), "web-2", ...(at > 9_600 ? ["web-3"] : [])];
    const pod = source.pick(pods);
    const failed = fails(at, pod, source.next()) ? ({ outcome, status } as Partial<RequestRecord>) : {};
    const { pod: _, podKnownBy: __, ...unnamed } = request(at, { ...failed });
    records.push({ ...unnamed, id: records.length, ...(known ? { pod, podKnownBy: "choice" } : {}) });
  }
  const countedFrom = 4_000;
  const scheduled = records.filter(({ intended }) => intended >= countedFrom).length;
  return account(recording({ records, podEvents, senderEvents: choices, countedFrom, scheduled }), meta);
}

const isSteady = (result: RemedyResult): boolean => result.lost > 0 && result.lostByCause.C12 === result.lost;

test("random failures of 1 % are told apart from losses, with pods named or not: one run in fifty is called a loss by chance", () => {
  for (const known of [true, false]) {
    const results = Array.from({ length: 50 }, (_, seed) =>
      run(seed, (_at, _pod, chance) => chance < 0.01, { known }),
    );
    const apart = results.filter(isSteady).length;
    assert.ok(apart >= 48, `${apart} of 50`);
    const one = results.find(isSteady)!;
    assert.equal(verdictOf(one), "no loss");
    assert.equal(one.lostOutside, one.lost);
    assert.match(
      one.lostRequests.at(0)?.sentence ?? "",
      /^500.*, as often as before the first deletion: \d+ of 1,\d{3} requests then, \d+ of \d,\d{3} since$/,
    );
  }
});

test("failures that come with the termination are never taken for steady ones", () => {
  const since: Fails = (at, _pod, chance) => at > 10_000 && chance < 0.02;
  const ending: Fails = (at, pod, chance) => pod === "web-1" && at > 10_000 && chance < 0.5;
  const overload: Fails = (at, pod, chance) => pod === "web-2" && at > 10_000 && at < 12_000 && chance < 0.3;
  // A program without a readiness probe answers so while it starts: in the warm-up, and in each new pod.
  const starting: Fails = (at, pod) => at < 3_500 || (pod === "web-3" && at < 11_000);
  for (const [name, fails] of Object.entries({ since, ending, overload, starting }))
    for (let seed = 0; seed < 10; seed++)
      for (const known of [true, false]) {
        const result = run(seed, fails, { known });
        assert.ok(result.lost > 0);
        assert.equal(result.lostByCause.C12, undefined, `${name} ${seed}`);
        assert.equal(verdictOf(result), "loses");
      }
});

test("an excess at the ending pod stays a loss among steady failures, and the report says how much of it is chance", () => {
  const both: Fails = (at, pod, chance) => chance < (pod === "web-1" && at > 10_000 ? 0.5 : 0.01);
  const result = run(3, both);
  const { C12 = 0 } = result.lostByCause;
  assert.ok(C12 > 5 && C12 < result.lost - 20, JSON.stringify(result.lostByCause));
  const stays = result.lostRequests.filter(({ cause, pod }) => cause !== "C12" && pod === "web-1");
  assert.match(
    stays.at(0)?.sentence ?? "",
    /of \d+ such failures at pods that started or ended some \d+ would have come/,
  );
  assert.equal(verdictOf(result), "loses");
});

test("failures too few to tell apart stay losses, and the report says so", () => {
  const rare: Fails = (at, pod) => pod === "web-2" && at > 14_000 && at < 14_010;
  const result = run(1, rare);
  assert.equal(result.lostByCause.C12, undefined);
  assert.match(
    result.lostRequests.at(0)?.sentence ?? "",
    /before the first deletion 0 of [\d,]+ requests failed so, too few to tell/,
  );
});

test("the tail of the binomial distribution is the exact one", () => {
  assert.ok(Math.abs(binomialTail(3, 3, 0.5) - 0.125) < 1e-12);
  assert.ok(Math.abs(binomialTail(1, 10, 0.1) - (1 - 0.9 ** 10)) < 1e-12);
  assert.ok(Math.abs(binomialTail(600, 1_000, 0.5) - 1.3642e-10) < 1e-13);
  assert.equal(binomialTail(0, 5, 0.5), 1);
  assert.equal(binomialTail(6, 5, 0.5), 0);
});
