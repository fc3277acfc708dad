/**
 * `npm run fuzz:readers -w packages/operator -- [MINUTES] [SEED]`: answers of proxies and clouds, cut off, of wrong types and garbled, until one is read
 * wrongly or the time is over. A reader must throw an error of the operator's, and quickly, or understand it. Once in many seeds whole readers are
 * answered over real connections.
 */
import { targets, wrongReading } from "../../watcher/fuzz/answers.ts";
import { hostileWorld, readers } from "../../watcher/fuzz/readers.ts";
import { tryEverySeed } from "./loop.ts";
import { random as randomFrom } from "../../drain/test/random.ts";

/** Whole readers take far longer than a text: so each has about half of the time. */
const seedsPerRound = 500;
let rounds = 0;

await tryEverySeed(
  async (seed) => {
    const random = randomFrom(seed);
    for (const target of targets) {
      const wrong = wrongReading(target, random);
      if (wrong !== undefined) return wrong;
    }
    if (seed % seedsPerRound !== 0) return undefined;
    rounds++;
    await using world = await hostileWorld();
    for (const reader of readers) {
      const wrong = await world.wrongWith(reader, random);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  },
  (seeds) => [
    `${seeds * targets.length} answers, and ${rounds} rounds of ${readers.length} whole readers`,
    "none was read wrongly",
  ],
);
