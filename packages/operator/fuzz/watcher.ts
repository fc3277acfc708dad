/**
 * `node packages/operator/fuzz/watcher.ts [MINUTES] [SEED]`: answers of proxies, cut off, of wrong types and garbled, until one is read wrongly or the
 * time is over. A reader must throw an error of the operator's, and quickly, or understand it.
 */
import { targets, wrongReading } from "../../watcher/fuzz/answers.ts";
import { tryEverySeed } from "./loop.ts";
import { random as randomFrom } from "../../drain/test/random.ts";

await tryEverySeed(
  (seed) => {
    const random = randomFrom(seed);
    for (const target of targets) {
      const wrong = wrongReading(target, random);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  },
  (seeds) => [`${seeds * targets.length} answers`, "none was read wrongly"],
);
