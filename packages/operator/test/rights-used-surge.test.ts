import assert from "node:assert/strict";
import test from "node:test";
import { operatorNames } from "@lameduck/protocol";
import { operatorRights, surgeRights } from "../src/rights.ts";
import { UsedRights } from "./rights-used.ts";

const used = new UsedRights();

// Its tests run here once more: what they ask the API server for is counted.
await import("../../webhook/test/surges.test.ts");

test("surges before evictions may do what they do, and every right is used", () => {
  const { namespace } = operatorNames;
  const everywhere = [...operatorRights.clusterRole, ...surgeRights];
  assert.deepEqual(used.beyond({ namespace, own: operatorRights.role, everywhere }), []);
  const [ofConfiguration, ...others] = surgeRights;
  assert.deepEqual(ofConfiguration?.resourceNames, [operatorNames.surge]);
  assert.deepEqual(used.unused({ namespace, own: [], everywhere: others }), []);
});
