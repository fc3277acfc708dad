/** Probes that nobody named are known by their regularity, and traffic is not taken for them. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { nativeProgram, withoutCompiler } from "./compiled.ts";

const skip = withoutCompiler;
const node = "198.18.0.2";

interface Connection {
  readonly peer: string;
  readonly at: number;
  /** Bytes that it brought; unknown where only that it was is known. */
  readonly size?: number;
}

/** Which of the connections, in order of time, were taken for probes. */
function taken(connections: readonly Connection[]): boolean[] {
  const sorted = [...connections].sort((a, b) => a.at - b.at);
  const input = sorted.map(({ peer, at, size = -1 }) => `${peer} ${at} ${size}\n`).join("");
  const { stdout, status } = spawnSync(nativeProgram("probes"), { input, encoding: "utf8" });
  assert.equal(status, 0);
  return stdout
    .trim()
    .split("\n")
    .map((line) => line === "1");
}

/** A repeatable sequence of numbers in [0, 1). */
function* chance(seed: number): Generator<number, never> {
  for (let state = seed; ;) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    yield state / 2_147_483_648;
  }
}

function every(period: number, count: number, from = 0, jitter = 0): { peer: string; at: number }[] {
  const random = chance(7);
  return Array.from({ length: count }, (_, index) => ({
    peer: node,
    at: from + index * period + jitter * random.next().value,
  }));
}

for (const period of [1_000, 5_000, 10_000])
  test(`a connection each ${period / 1_000} s is a probe from the sixth on`, { skip }, () => {
    const answers = taken(every(period, 12, 0, 40));
    assert.ok(answers.slice(5).every(Boolean), answers.join());
    assert.ok(!answers[0] && !answers[1] && !answers[2]);
  });

test("readiness and liveness probes of one kubelet, at two phases", { skip }, () => {
  const answers = taken([...every(10_000, 6, 0, 40), ...every(10_000, 6, 3_300, 40)]);
  assert.ok(answers.slice(-4).every(Boolean), answers.join());
});

test("random traffic is not, whatever its rate", { skip }, () => {
  for (const [seed, mean] of [50, 200, 1_000, 3_000, 10_000].entries()) {
    for (const size of [undefined, 87]) {
      const connections = poisson(mean, seed + 1, size);
      const share = taken(connections).filter(Boolean).length / connections.length;
      assert.ok(share < 0.2, `${share} of them at one each ${mean} ms`);
    }
  }
});

/** Traffic at random, 60 connections. */
function poisson(mean: number, seed: number, size?: number): Connection[] {
  const random = chance(seed);
  let at = 0;
  return Array.from({ length: 60 }, () => ({
    peer: node,
    at: (at += -Math.log(1 - random.next().value) * mean),
    ...(size === undefined ? {} : { size }),
  }));
}

test("probes of which half have left no trace are known from what is left", { skip }, () => {
  const random = chance(3);
  const left = every(1_000, 40, 0, 20).filter(() => random.next().value < 0.5);
  const seen = every(1_000, 3, 40_000, 20).map((probe) => ({ ...probe, size: 131 }));
  assert.deepEqual(taken([...left, ...seen]).slice(-3), [true, true, true]);
});

test("probes are known by their size where the node sends traffic from the same address", { skip }, () => {
  const traffic = poisson(200, 5, 87);
  const probes = every(1_000, 11, 50, 20).map((probe) => ({ ...probe, size: 131 }));
  const sorted = [...traffic, ...probes].sort((a, b) => a.at - b.at);
  const answers = taken(sorted);
  const probesTaken = answers.filter((_, index) => sorted[index]?.size === 131);
  assert.deepEqual(probesTaken.slice(5), [true, true, true, true, true, true]);
  assert.ok(answers.every((answer, index) => !answer || sorted[index]?.size === 131));
});

test(
  "a busy kubelet's probes stay probes: one comes late, and the end of some brings a byte less",
  { skip },
  () => {
    const late = new Map([[7, 370]]);
    const probes = every(1_000, 20, 0, 40).map(({ peer, at }, index) => ({
      peer,
      at: at + (late.get(index) ?? 0),
      size: 111 - (index % 3 === 0 ? 1 : 0),
    }));
    assert.ok(taken(probes).slice(5).every(Boolean), taken(probes).join());
    // Others that ask for just as much, and are many, are traffic.
    const crowd = poisson(200, 9, 111).map((connection) => ({ ...connection, at: connection.at + 20_000 }));
    const answers = taken([...probes, ...crowd]).slice(probes.length);
    assert.ok(
      answers.slice(20).every((answer) => !answer),
      answers.join(),
    );
  },
);

test(
  "a prober known from before the hold is known by its size with its third probe, though the first came late",
  { skip },
  () => {
    const before = every(1_000, 20, 0, 10).filter((_, index) => index % 4 !== 0);
    const live = [20_250, 21_000, 22_000, 23_004, 24_380, 25_000, 26_001].map((at) => ({
      peer: node,
      at,
      size: 111,
    }));
    const answers = taken([...before, ...live]).slice(before.length);
    assert.deepEqual(answers.slice(3), [true, true, true, true], answers.join());
  },
);

test("late as they are, evenly spaced connections of one size are probes", { skip }, () => {
  const probes = [0, 1_300, 2_000, 3_000, 4_350, 5_000, 6_000, 7_000].map((at) => ({
    peer: node,
    at,
    size: 111,
  }));
  assert.deepEqual(taken(probes).slice(-2), [true, true]);
});

test("traffic from an address that also probes stays traffic", { skip }, () => {
  const probes = every(10_000, 7);
  const answers = taken([...probes, { peer: node, at: 64_000 }, { peer: node, at: 67_000 }]);
  assert.deepEqual(answers.slice(-2), [false, false]);
});

test("a hundred senders that came once do not hide the prober, either", { skip }, () => {
  const rare = Array.from({ length: 100 }, (_, sender) => ({
    peer: `198.18.1.${sender + 1}`,
    at: sender * 100,
    size: 87,
  }));
  const probes = every(1_000, 8, 16_000).map((probe) => ({ ...probe, size: 131 }));
  assert.deepEqual(taken([...rare, ...probes]).slice(-2), [true, true]);
});

test("a hundred busy senders do not hide the prober", { skip }, () => {
  const busy = Array.from({ length: 100 }, (_, sender) =>
    Array.from({ length: 300 }, (_, index) => ({ peer: `198.18.1.${sender + 1}`, at: index * 200 + sender })),
  ).flat();
  const all = [...busy, ...every(10_000, 7, 50)];
  const answers = taken(all);
  const sorted = all.sort((a, b) => a.at - b.at);
  assert.ok(answers.some((answer, index) => answer && sorted[index]?.peer === node));
});
