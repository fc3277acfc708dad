import fc from "fast-check";
import { anyCase, crowdedCase, trafficCase } from "../test/decision-cases.ts";
import { decidedAlike } from "../test/native-decision.ts";

/** As many cases at a time: each time a process is started. */
const batch = { any: 1_000, crowded: 20, traffic: 100 };

/** Decides random holds in C and in TypeScript for so long. @returns whether they never differed. */
export function fuzzDecision(seconds: number): boolean {
  const end = Date.now() + seconds * 1_000;
  let count = 0;
  for (let seed = Date.now() % 1_000_000; Date.now() < end; seed++) {
    const cases = [
      ...fc.sample(anyCase, { numRuns: batch.any, seed }),
      ...fc.sample(crowdedCase, { numRuns: batch.crowded, seed }),
      ...fc.sample(trafficCase, { numRuns: batch.traffic, seed }),
    ];
    count += cases.length;
    try {
      decidedAlike(cases);
    } catch (error) {
      process.stdout.write(`decision: A DIFFERENCE with seed ${seed}\n`);
      process.stderr.write(`${(error as Error).message.slice(0, 6_000)}\n`);
      return false;
    }
  }
  process.stdout.write(`decision: ${count} holds in ${seconds} s, decided alike in C and TypeScript\n`);
  return true;
}
