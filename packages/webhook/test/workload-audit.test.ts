import assert from "node:assert/strict";
import test from "node:test";
import { WorkloadAudit, type WorkloadAuditOptions } from "../src/workload-audit/workload-audit.ts";
import { shop } from "./losing-workload.ts";
import { OperatorApi, until } from "../../cluster/test/operator-api.ts";

interface Looking extends AsyncDisposable {
  readonly api: OperatorApi;
  readonly audit: WorkloadAudit;
}

/** The looks alone, each 5 ms. A namespace is due again after four of them. */
async function looking(
  namespaces: ReadonlySet<string>,
  more: Pick<WorkloadAuditOptions, "isLeader" | "onNews">,
): Promise<Looking> {
  const api = await OperatorApi.start();
  shop(api);
  const client = api.client();
  const audit = new WorkloadAudit({
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
  const running = audit.run(ending.signal);
  return {
    api,
    audit,
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await running;
      client.close();
      await api.stop();
    },
  };
}

test("the audit looks at each of many namespaces, although the first ones are due again before the last one", async () => {
  const names = Array.from({ length: 12 }, (_, at) => `shop-${at}`);
  await using all = await looking(new Set(names), { isLeader: () => true, onNews: () => undefined });
  await until(() => all.audit.known.size === names.length, "each was looked at");
});

test("a replica that is no longer the leader writes no Event of the audit", async () => {
  let [leads, rounds] = [true, 0];
  await using all = await looking(new Set(["shop"]), {
    isLeader: () => {
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
