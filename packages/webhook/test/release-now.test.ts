import assert from "node:assert/strict";
import { test } from "node:test";
import { releaseNow } from "../src/deletions/released.ts";

for (const [known, ending] of [
  ["released", "released"],
  ["unknown", "waited"],
  ["incomplete", "waited"],
  ["waiting", undefined],
] as const)
  test(`an eviction of which the coordinator says ${known} ends as ${ending ?? "nothing yet"} after the assumed time`, async () => {
    const evidence = {
      endpoints: { hasReadyEndpoint: () => false },
      consumers: { ask: () => Promise.resolve(known) },
      now: () => 10_000,
    } as unknown as Parameters<typeof releaseNow>[1];
    const pod = { namespace: "shop", name: "web-1", uid: "u" };
    const withdrawn = { pod, services: [], at: 0, convergence: 5_000 };
    assert.equal(await releaseNow(withdrawn, evidence, AbortSignal.timeout(5_000)), ending);
  });
