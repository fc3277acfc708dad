/**
 * `node packages/operator/fuzz/watcher.ts [MINUTES] [SEED]`: answers of proxies, cut off, of wrong types and garbled, until one is read wrongly or the
 * time is over. A reader must throw an error of the operator's, and quickly, or understand it.
 */
import { targets, wrongReading } from "./answers.ts";
import { randomFrom } from "./reviews.ts";

const [minutes = "10", first = String(Date.now() % 1_000_000_000)] = process.argv.slice(2);
const end = Date.now() + Number(minutes) * 60_000;
let seed = Number(first);
const began = seed;
while (Date.now() < end) {
  const random = randomFrom(seed);
  for (const target of targets) {
    const wrong = wrongReading(target, random);
    if (wrong === undefined) continue;
    process.stdout.write(`seed ${seed}: ${wrong}\n`);
    process.exit(1);
  }
  seed++;
}
process.stdout.write(
  `${(seed - began) * targets.length} answers from seed ${began} on in ${minutes} minutes: none was read wrongly\n`,
);
