import assert from "node:assert/strict";
import test from "node:test";
import { type Observation } from "../src/index.ts";
import { runVector } from "./vectors.ts";
import { random } from "./random.ts";

/** Poisson arrivals, from a minute before SIGTERM. */
interface Stream {
  readonly perSecond: number;
  readonly name: () => string;
  /** Seconds after SIGTERM. */
  readonly until: number;
}

const minute = 60_000;
const trials = 10;

function arrivalsOf({ perSecond, name, until }: Stream, next: () => number): Observation[] {
  const arrivals: Observation[] = [];
  const gap = (): number => (-Math.log(1 - next()) * 1_000) / perSecond;
  for (let at = gap() - minute; at < until * 1_000; at += gap())
    arrivals.push({ type: "arrival", at, sender: name(), kind: "connection" });
  return arrivals;
}

/** Means of some trials: the hold in seconds, and what came after it. */
function played(streamsOf: (next: () => number) => readonly Stream[]): { hold: number; lost: number } {
  let hold = 0;
  let lost = 0;
  for (let seed = 1; seed <= trials; seed++) {
    const next = random(seed);
    const arrivals = streamsOf(next).flatMap((stream) => arrivalsOf(stream, next));
    const { stop } = runVector({
      name: "",
      why: "",
      config: { grace: "60s", reserve: "5s" },
      observations: [{ type: "watching", at: -minute - 1 }, { type: "termination", at: 0 }, ...arrivals],
      expect: { stop: 0, reason: "cap" },
    });
    hold += stop / 1_000 / trials;
    lost += arrivals.filter(({ at }) => at > stop).length / trials;
  }
  return { hold, lost };
}

const oneOf = (addresses: number, next: () => number) => () => `10.0.${Math.floor(next() * addresses)}`;
const named = (name: string) => () => name;

test("one sender that goes on beside a crowd is waited for as if it were alone", () => {
  for (const perSecond of [2, 5]) {
    const goesOn: Stream = { perSecond, name: named("regular"), until: 12 };
    const alone = played(() => [goesOn]);
    const beside = played((next) => [goesOn, { perSecond: 100, name: oneOf(5_000, next), until: 2 }]);
    assert.ok(beside.lost <= alone.lost + 0.1, `${perSecond}/s: ${beside.lost} lost`);
    assert.ok(beside.hold <= 1.1 * alone.hold, `${perSecond}/s: ${beside.hold} s, alone ${alone.hold} s`);
  }
});

test("visitors that come once each hold a pod no longer than one address that sends at their rate", () => {
  const five = [1, 2, 3, 4, 5].map((n): Stream => ({ perSecond: 4, name: named(`10.1.${n}`), until: 1 }));
  for (const perSecond of [3, 5, 10]) {
    const ends = { perSecond, until: 12 };
    const one = played(() => [...five, { ...ends, name: named("one") }]);
    let count = 0;
    const many = played(() => [...five, { ...ends, name: () => `visitor ${count++}` }]);
    assert.equal(many.lost, 0);
    assert.ok(many.hold <= 1.1 * one.hold, `${perSecond}/s: ${many.hold} s, one address ${one.hold} s`);
  }
});

test("the number of addresses in a crowd does not change the hold", () => {
  const [few = 0, ...more] = [1_000, 10_000, 1_000_000].map(
    (addresses) => played((next) => [{ perSecond: 100, name: oneOf(addresses, next), until: 2 }]).hold,
  );
  for (const hold of more) assert.ok(Math.abs(hold / few - 1) < 0.1, `${hold} s instead of ${few} s`);
});
