/** Probes that nobody named are known by their regularity, and traffic is not taken for them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutCompiler } from "./compiled.ts";
import { chance, every, node, poisson, taken } from "./noted.ts";

const skip = withoutCompiler;

for (const period of [1_000, 5_000, 10_000])
  test(`a connection every ${period / 1_000} s is a probe from the sixth on`, { skip }, () => {
    const answers = taken(every(period, 12, 0, 40));
    assert.ok(answers.slice(5).every(Boolean), answers.join());
    assert.ok(!answers[0] && !answers[1] && !answers[2]);
  });

test("an address that only probes stays a prober when its probes come late", { skip }, () => {
  const before = every(1_000, 12, 0, 40);
  const late = [820, 30, 640, 900, 10, 710, 560, 40];
  const after = late.map((by, index) => ({ peer: node, at: 12_000 + index * 1_000 + by, size: 111 }));
  assert.ok(
    taken([...before, ...after])
      .slice(12)
      .every(Boolean),
  );
  // More than one a period is traffic.
  const between = after.map(({ at }, index) => ({ peer: node, at: at + 7, size: 60 + index }));
  const answers = taken([...before, ...after, ...between]).slice(12);
  assert.equal(answers.filter((probe) => !probe).length, between.length, answers.join());
});

test("readiness and liveness probes of one kubelet are recognised at two phases", { skip }, () => {
  const answers = taken([...every(10_000, 6, 0, 40), ...every(10_000, 6, 3_300, 40)]);
  assert.ok(answers.slice(-4).every(Boolean), answers.join());
});

test("random traffic is not taken for probes, whatever its rate", { skip }, () => {
  for (const mean of [50, 100, 200, 300, 500, 700, 1_000, 3_000, 10_000]) {
    for (const size of [undefined, 87]) {
      const runs = Array.from({ length: 20 }, (_, run) => taken(poisson(mean, 101 * run + 1, size)));
      const share = runs.flat().filter(Boolean).length / runs.flat().length;
      // One each second at random is what looks most like a probe that is late at times.
      const most = mean >= 700 && mean <= 1_000 ? 0.1 : 0.03;
      assert.ok(share < most, `${share} of them at one each ${mean} ms`);
    }
  }
});

test("probes of which half have left no trace are recognised by the other half", { skip }, () => {
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
  "the probes of a busy kubelet stay probes, though one comes late, and the end of some brings a byte less",
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
  "a prober known from before the hold is recognised at once, though its probes come late",
  { skip },
  () => {
    const random = chance(5);
    const before = every(1_000, 20, 0, 10).filter(() => random.next().value < 0.75);
    const live = [20_250, 21_490, 22_220, 23_004, 24_480, 25_000, 26_001].map((at) => ({
      peer: node,
      at,
      size: 111,
    }));
    const answers = taken([...before, ...live]).slice(before.length);
    assert.ok(answers.every(Boolean), answers.join());
  },
);

test("evenly spaced connections of one size are probes, even if they are late", { skip }, () => {
  const probes = [0, 1_300, 2_000, 3_000, 4_350, 5_000, 6_000, 7_000].map((at) => ({
    peer: node,
    at,
    size: 111,
  }));
  assert.deepEqual(taken(probes).slice(-2), [true, true]);
});

test(
  "the probes of a node that is overloaded are recognised by the seventh, however late each is",
  { skip },
  () => {
    // As kubelets of a test cluster came while twenty pods rolled on two processors.
    const recorded = [
      [0, 1_087, 2_029, 3_178, 4_335, 5_455, 6_323, 7_010, 8_299, 9_131, 10_419, 11_001],
      [0, 945, 2_151, 2_822, 3_832, 4_677, 5_936, 6_709, 7_986, 8_617],
      [0, 740, 1_944, 2_741, 3_951, 4_991, 5_890, 6_702, 7_724, 8_683, 9_681],
      [0, 1_156, 1_989, 3_401, 4_100, 5_174, 6_070, 7_026, 7_998],
    ];
    for (const times of recorded) {
      const answers = taken(times.map((at) => ({ peer: node, at, size: 111 })));
      assert.ok(answers.slice(6).every(Boolean), answers.join());
    }
  },
);

test("traffic from an address that also probes stays traffic", { skip }, () => {
  const probes = every(10_000, 7);
  const answers = taken([...probes, { peer: node, at: 64_000 }, { peer: node, at: 67_000 }]);
  assert.deepEqual(answers.slice(-2), [false, false]);
});

test("a hundred senders that came once do not hide a prober", { skip }, () => {
  const rare = Array.from({ length: 100 }, (_, sender) => ({
    peer: `198.18.1.${sender + 1}`,
    at: sender * 100,
    size: 87,
  }));
  const probes = every(1_000, 8, 16_000).map((probe) => ({ ...probe, size: 131 }));
  assert.deepEqual(taken([...rare, ...probes]).slice(-2), [true, true]);
});

test("a hundred busy senders do not hide a prober", { skip }, () => {
  const busy = Array.from({ length: 100 }, (_, sender) =>
    Array.from({ length: 300 }, (_, index) => ({ peer: `198.18.1.${sender + 1}`, at: index * 200 + sender })),
  ).flat();
  const all = [...busy, ...every(10_000, 7, 50)];
  const answers = taken(all);
  const sorted = all.sort((a, b) => a.at - b.at);
  assert.ok(answers.some((answer, index) => answer && sorted[index]?.peer === node));
});
