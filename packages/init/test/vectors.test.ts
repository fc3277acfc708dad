import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import fc from "fast-check";
import { type Observation } from "@lameduck/drain";
import { expandVector, type DecisionVector } from "../../drain/test/vectors.ts";
import { withoutCompiler } from "./compiled.ts";
import { anyCase, crowdedCase, trafficCase } from "./decision-cases.ts";
import { answers, decidedAlike, linesOf } from "./native-decision.ts";

const folder = fileURLToPath(new URL("../../drain/vectors/", import.meta.url));

for (const file of readdirSync(folder).sort()) {
  const vectors = JSON.parse(readFileSync(folder + file, "utf8")) as DecisionVector[];
  for (const vector of vectors) {
    const observations = expandVector(vector);
    const { languages = ["c"] } = vector;
    const skip =
      withoutCompiler || (!languages.includes("c") && "from outside of a program such things are not seen");
    test(`the decision in C on ${file} is the recorded one: ${vector.name}`, { skip }, () => {
      const [answer = ""] = answers(linesOf({ config: vector.config, observations }));
      const [stop, reason] = answer.split(" ");
      assert.equal(reason, vector.expect.reason, answer);
      assert.ok(Math.abs(Number(stop) - vector.expect.stop) <= 1, `${answer}, not ${vector.expect.stop}`);
    });
  }
}

test("C and TypeScript decide alike on any observations and settings", { skip: withoutCompiler }, () => {
  decidedAlike(fc.sample(anyCase, { numRuns: 2_000, seed: 7 }));
});

test(
  "C and TypeScript decide alike where senders come often, seldom and in crowds",
  { skip: withoutCompiler },
  () => {
    decidedAlike(fc.sample(crowdedCase, { numRuns: 100, seed: 7 }));
  },
);

test("C and TypeScript decide alike where senders let go, pause and leave", { skip: withoutCompiler }, () => {
  decidedAlike(fc.sample(trafficCase, { numRuns: 300, seed: 7 }));
});

/** When it stops for a sender that came at these times, if a share of its connections before the hold left a trace. */
function stopAfter(times: readonly number[], coverage: number): number {
  const seen: Observation[] = times.map((at) => ({ type: "arrival", kind: "connection", sender: "a", at }));
  const all = [...seen, { type: "termination", at: 0 } as const].sort((a, b) => a.at - b.at);
  return Number.parseFloat(
    answers(`coverage ${coverage}\n${linesOf({ config: {}, observations: all })}`)[0] ?? "",
  );
}

function evenly(from: number, gap: number, to: number): number[] {
  return Array.from({ length: Math.floor((to - from) / gap) }, (_, index) => from + index * gap);
}

/** For one of even gaps. */
function stopOf(gapBefore: number, gapInHold: number, coverage: number): number {
  return stopAfter(
    [...evenly(-gapBefore * 50, gapBefore, 0), ...evenly(gapInHold, gapInHold, 4_000 + gapInHold)],
    coverage,
  );
}

test(
  "the decision in C assumes a higher rate before the hold where connections left no trace",
  { skip: withoutCompiler },
  () => {
    assert.ok(stopOf(400, 200, 0.5) < stopOf(400, 200, 1) - 200);
    // Less than that is not missing,
    assert.ok(stopOf(400, 100, 0.5) > stopOf(200, 100, 1) - 1);
    // and who is as slow as its trace left all of it: what is missing is another's.
    assert.equal(stopOf(400, 400, 0.5), stopOf(400, 400, 1));
  },
);

test(
  "the decision in C shortens the longest gap where connections left no trace, however long ago it was",
  { skip: withoutCompiler },
  () => {
    const times = [...evenly(-140_000, 400, -130_000), ...evenly(-127_800, 400, 2_400)];
    assert.ok(stopAfter(times, 0.5) < stopAfter(times, 1) - 200);
  },
);
