/** `npm run fuzz -w packages/operator -- [MINUTES] [SEED]`: reviews, and bodies of both protocols of the coordinator, of every shape, until something is wrong or the time is over. */
import { tryProtocols } from "./protocols.ts";
import { randomBody, randomFrom, wrongWith } from "./reviews.ts";

const [minutes = "10", first = String(Date.now() % 1_000_000_000)] = process.argv.slice(2);
const end = Date.now() + Number(minutes) * 60_000;
let seed = Number(first);
const began = seed;
while (Date.now() < end) {
  const random = randomFrom(seed);
  const body = randomBody(random);
  const said = tryProtocols(randomFrom(seed));
  const wrong = [...wrongWith(body, random), ...(said === undefined ? [] : [said])];
  if (wrong.length > 0) {
    process.stdout.write(`seed ${seed}: ${wrong.join("; ")}\n${body.slice(0, 4_000)}\n`);
    process.exit(1);
  }
  seed++;
}
process.stdout.write(
  `${seed - began} reviews from seed ${began} on in ${minutes} minutes: every answer is well-formed\n`,
);
