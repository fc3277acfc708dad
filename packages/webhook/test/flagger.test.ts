import assert from "node:assert/strict";
import test from "node:test";
import { Flagger, type FlaggerOptions } from "../src/workload-audit/flagger.ts";
import { shop } from "./losing-workload.ts";
import { OperatorApi, until } from "../../cluster/test/operator-api.ts";

interface Looking extends AsyncDisposable {
  readonly api: OperatorApi;
  readonly flagger: Flagger;
}

/** The looks alone, each 5 ms. A namespace is due again after four of them. */
async function looking(
  namespaces: ReadonlySet<string>,
  more: Pick<FlaggerOptions, "leads" | "onNews">,
): Promise<Looking> {
  const api = await OperatorApi.start();
  shop(api);
  const client = api.client();
  const flagger = new Flagger({
    client,
    every: 20,
    pause: 5,
    name: "replica",
    namespaces: () => namespaces,
    kubernetes: () => 36,
    onProblem: (error) => assert.fail(String(error)),
    ...more,
  });
  const ending = new AbortController();
  const running = flagger.run(ending.signal);
  return {
    api,
    flagger,
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await running;
      client.close();
      await api.stop();
    },
  };
}

test("each of many namespaces has its turn, though the first ones are due again before the last one", async () => {
  const names = Array.from({ length: 12 }, (_, at) => `shop-${at}`);
  await using all = await looking(new Set(names), { leads: () => true, onNews: () => undefined });
  await until(() => all.flagger.known.size === names.length, "each was looked at");
});

test("a replica that leads no more writes no Event", async () => {
  let [leads, rounds] = [true, 0];
  await using all = await looking(new Set(["shop"]), {
    leads: () => {
      rounds++;
      return leads;
    },
    onNews: () => (leads = false),
  });
  await until(() => !leads, "it has found something");
  const before = rounds;
  await until(() => rounds > before + 10, "further rounds");
  assert.deepEqual(all.api.items("events"), []);
});
