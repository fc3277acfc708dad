import assert from "node:assert/strict";
import test from "node:test";
import { until } from "../../cluster/test/operator-api.ts";
import { random as randomFrom } from "../../drain/test/random.ts";
import { hostileWorld, readers } from "../fuzz/readers.ts";

/** `npm run fuzz:readers -w packages/operator` goes on with others. */
const seeds = 12;

const open = (): number =>
  process.getActiveResourcesInfo().filter((one) => /TCP|Pipe|Timeout/.test(one)).length;

for (const reader of readers)
  test(`whatever answers the reader of ${reader.name}, it lets go of no pod that is used, of one that is not, and of its connections`, async () => {
    const before = open();
    {
      await using world = await hostileWorld();
      for (let seed = 1; seed <= seeds; seed++)
        assert.equal(await world.wrongWith(reader, randomFrom(seed)), undefined, `seed ${seed}`);
    }
    await until(() => open() <= before, "nothing is left open");
  });
