/** `npm run fuzz -w packages/operator -- [MINUTES] [SEED]`: reviews, and bodies of both protocols of the coordinator, of every shape, until something is wrong or the time is over. */
import { tryEverySeed } from "./loop.ts";
import { tryProtocols } from "../../coordinator/fuzz/protocols.ts";
import { random as randomFrom } from "../../drain/test/random.ts";
import { randomBody, wrongWith } from "../../webhook/fuzz/reviews.ts";

await tryEverySeed(
  async (seed) => {
    const random = randomFrom(seed);
    const body = randomBody(random);
    const said = tryProtocols(randomFrom(seed));
    const wrong = [...(await wrongWith(body, random)), ...(said === undefined ? [] : [said])];
    return wrong.length > 0 ? `${wrong.join("; ")}\n${body.slice(0, 4_000)}` : undefined;
  },
  (seeds) => [`${seeds} reviews`, "every answer is well-formed"],
);
