import assert from "node:assert/strict";
import test from "node:test";
import { tryProtocols } from "../fuzz/protocols.ts";
import { random as randomFrom } from "../../drain/test/random.ts";

test("each of 20,000 bodies of both protocols that is taken is within its bounds", () => {
  for (let seed = 1; seed <= 20_000; seed++)
    assert.equal(tryProtocols(randomFrom(seed)), undefined, `seed ${seed}`);
});
