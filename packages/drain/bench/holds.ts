import { type Observation } from "../src/index.ts";
import { runVector } from "../test/vectors.ts";
import { random } from "../test/random.ts";

/**
 * Measures holds for docs/contributing/decision.md, from "Many senders" on: how long a hold is, and what arrives after it. Addresses are many,
 * pause, go on alone or come once. Arrivals are Poisson from a minute before SIGTERM, and the cap is 55 s.
 * `npm run holds -w packages/drain` takes some minutes.
 */
const trials = Number(process.argv[2] ?? 20);
const minute = 60_000;

interface Stream {
  readonly perSecond: number;
  readonly name: (at: number) => string;
  /** Seconds after SIGTERM. */
  readonly until: number;
  readonly from?: number;
}

type Draw = () => number;

function arrivalsOf({ perSecond, name, until, from = -60 }: Stream, draw: Draw): Observation[] {
  const arrivals: Observation[] = [];
  const gap = (): number => (-Math.log(1 - draw()) * 1_000) / perSecond;
  for (let at = from * 1_000 + gap(); at < until * 1_000; at += gap())
    arrivals.push({ type: "arrival", at, sender: name(at), kind: "connection" });
  return arrivals;
}

function holdOf(arrivals: readonly Observation[], from = -minute - 1): number {
  const ends: Observation[] = [
    { type: "watching", at: from },
    { type: "termination", at: 0 },
  ];
  const config = { grace: "60s", reserve: "5s" };
  const observations = [...ends, ...arrivals];
  return runVector({ name: "", why: "", config, observations, expect: { stop: 0, reason: "cap" } }).stop;
}

/** A line: mean hold, and mean number of arrivals after it. */
function print(title: string, arrivalsIn: (draw: Draw) => readonly Observation[], from?: number): void {
  let hold = 0;
  let lost = 0;
  for (let seed = 1; seed <= trials; seed++) {
    const arrivals = arrivalsIn(random(seed));
    const stop = holdOf(arrivals, from);
    hold += stop / 1_000 / trials;
    lost += arrivals.filter(({ at }) => at > stop).length / trials;
  }
  process.stdout.write(`${title.padEnd(64)} ${hold.toFixed(1).padStart(5)} s, lost ${lost.toFixed(2)}\n`);
}

const playing = (streams: (draw: Draw) => readonly Stream[]) => (draw: Draw) =>
  streams(draw).flatMap((stream) => arrivalsOf(stream, draw));
const oneOf =
  (addresses: number, draw: Draw, prefix = "a") =>
  () =>
    `${prefix}${Math.floor(draw() * addresses)}`;
const named = (name: string) => () => name;
const visitors = (prefix: string) => {
  let count = 0;
  return () => `${prefix}${count++}`;
};
const several = (count: number, perSecond: number, until: (index: number) => number): Stream[] =>
  Array.from({ length: count }, (_, index) => ({
    perSecond: perSecond / count,
    name: named(`s${index}`),
    until: until(index),
  }));

for (const until of [2, 5])
  for (const addresses of [10, 100, 1_000, 10_000, 1_000_000])
    print(
      `${addresses} addresses, 100/s, let go at ${until} s`,
      playing((draw) => [{ perSecond: 100, name: oneOf(addresses, draw), until }]),
    );

for (const perSecond of [5, 2, 1, 0.5]) {
  const other: Stream = { perSecond, name: named("other"), until: 12 };
  print(
    `5,000 addresses until 2 s, and one of ${perSecond}/s until 12 s`,
    playing((draw) => [{ perSecond: 100, name: oneOf(5_000, draw), until: 2 }, other]),
  );
  print(
    `that one alone`,
    playing(() => [other]),
  );
}

for (const perSecond of [3, 5, 10]) {
  const known = several(5, 20, () => 1);
  print(
    `five of 4/s until 1 s, and visitors, ${perSecond}/s until 12 s`,
    playing(() => [...known, { perSecond, name: visitors("v"), until: 12 }]),
  );
  print(
    `the same from one address`,
    playing(() => [...known, { perSecond, name: named("v"), until: 12 }]),
  );
}

print("2,000 addresses, 100/s, let go one by one, mean 2 s", (draw) => {
  const goesAt = Array.from({ length: 2_000 }, () => -2_000 * Math.log(1 - draw()));
  const all = arrivalsOf({ perSecond: 100, name: oneOf(2_000, draw), until: 40 }, draw);
  return all.filter((one) => one.type === "arrival" && one.at < goesAt[Number(one.sender.slice(1))]!);
});
print(
  "5,000 addresses, 100/s, in five parts after 1, 1, 2, 5, 10 s",
  playing((draw) =>
    [1, 1, 2, 5, 10].map((until, part) => ({ perSecond: 20, name: oneOf(1_000, draw, `p${part}-`), until })),
  ),
);

for (const count of [10, 100])
  print(
    `${count} senders, 100/s, until 2 s, and one of 2/s until 12 s`,
    playing(() => [...several(count, 100, () => 2), { perSecond: 2, name: named("other"), until: 12 }]),
  );
for (const percent of [5, 2, 1])
  print(
    `1,000 addresses, 100/s, until 2 s, but ${percent} % of them until 12 s`,
    playing((draw) => [
      { perSecond: 100 - percent, name: oneOf(1_000 - 10 * percent, draw), until: 2 },
      { perSecond: percent, name: oneOf(10 * percent, draw, "on"), until: 12 },
    ]),
  );

for (const gap of [0.7, 1.3])
  for (const from of [undefined, -40, -10]) {
    const known = several(5, 5 / gap, (index) => (index === 0 ? 12 : 1));
    const flood = { perSecond: 1_000, name: visitors("f"), from: from ?? -10, until: (from ?? -10) + 10 };
    print(
      `five, one request in ${gap} s each, one until 12 s; flood ${from === undefined ? "none" : `from ${from} s`}`,
      playing(() => (from === undefined ? known : [...known, flood])),
    );
  }
print(
  "five of 1/s until 1 s",
  playing(() => several(5, 5, () => 1)),
);
print(
  "the same, and 3,000 addresses that come once in 3 s of the hold",
  playing(() => [...several(5, 5, () => 1), { perSecond: 1_000, name: visitors("f"), from: 0, until: 3 }]),
);

/** Seconds of traffic, a pause of 45 s, traffic until SIGTERM and in the hold. */
function paused(
  before: number,
  after: number,
  count: number,
  perSecond: number,
  until: readonly number[],
): void {
  const untilOf = (index: number): number => until[index % until.length]!;
  const start = -(before + 45 + after);
  const title = `${count} senders, ${perSecond}/s, until ${until.join(", ")} s`;
  const isBefore = before > 0;
  print(
    isBefore ? `${title}; ${before} s, a pause, ${after} s` : `${title}; no pause, ${after} s`,
    playing(() =>
      several(count, perSecond, untilOf).flatMap((one) => [
        ...(isBefore ? [{ ...one, from: start, until: start + before }] : []),
        { ...one, from: -after },
      ]),
    ),
    start * 1_000,
  );
}

for (const [count, perSecond] of [
  [5, 25],
  [50, 25],
  [2, 5],
  [1, 10],
  [5, 1],
] as const)
  for (const before of [75, 0]) paused(before, 60, count, perSecond, [2]);
for (const [count, perSecond, short] of [
  [5, 25, 1],
  [5, 25, 3],
  [5, 5, 3],
  [10, 25, 1],
  [40, 25, 1],
] as const)
  for (const before of [short, 0]) paused(before, 15, count, perSecond, [1, 1, 2, 5, 10]);

/** How often, and by how much, one arrival more makes a hold of one sender shorter. */
for (const spread of ["Poisson", "even"] as const)
  for (const where of ["before", "after"] as const) {
    let shorter = 0;
    let most = 0;
    let count = 0;
    for (let seed = 1; seed <= 50 * trials; seed++) {
      const draw = random(seed);
      const perSecond = 0.5 * 40 ** draw();
      const until = 10 * draw();
      const stream = { perSecond, name: named("s"), until };
      const first = -minute + draw() * (1_000 / perSecond);
      const arrivals: Observation[] =
        spread === "Poisson"
          ? arrivalsOf(stream, draw)
          : Array.from({ length: Math.ceil(((until * 1_000 - first) / 1_000) * perSecond) }, (_, index) => ({
              type: "arrival" as const,
              sender: "s",
              kind: "connection" as const,
              at: first + (index * 1_000) / perSecond,
            }));
      const last = Math.max(0, arrivals.at(-1)?.at ?? 0);
      const hold = holdOf(arrivals);
      const at = where === "before" ? draw() * last : last + draw() * (hold - last);
      if (hold >= 55_000 || last === 0 || hold <= 1_000) continue;
      count++;
      const more: Observation = { type: "arrival", at, sender: "s", kind: "connection" };
      const change = 1 - holdOf([...arrivals, more]) / hold;
      if (change > 1e-4) shorter++;
      most = Math.max(most, change);
    }
    process.stdout.write(
      `one sender, ${spread}, one arrival more ${where} its last: ${shorter} of ${count} holds shorter, by ${(100 * most).toFixed(1)} % at most\n`,
    );
  }
