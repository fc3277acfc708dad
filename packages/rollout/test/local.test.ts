import assert from "node:assert/strict";
import { test } from "node:test";
import { closesAtTerm, node, observe, stageNetwork, workload } from "./local-stage.ts";

const network = await stageNetwork(import.meta.filename);
if (network) {
  test(
    "pods are ready, reachable each at an address of its own, and replaced one after the other",
    { timeout: 60_000 },
    async (context) => {
      const observed = observe(context, network, workload(node(closesAtTerm), { replicas: 2 }));
      await observed.stage.ready();
      assert.deepEqual([...observed.endpoints.keys()].toSorted(), ["web-1", "web-2"]);
      for (const { pod, address, port } of observed.endpoints.values())
        assert.equal(await (await fetch(`http://${address}:${port}/`)).text(), pod);
      const addresses = [...observed.endpoints.values()].map(({ address, port }) => `${address}:${port}`);
      assert.equal(new Set(addresses).size, 2);

      await observed.stage.rollout();
      assert.deepEqual(observed.stage.pods.map(({ name }) => name).toSorted(), ["web-3", "web-4"]);
      assert.equal(observed.all("deleted").length, 2);
      assert.deepEqual(
        observed.told
          .filter(({ what }) => what === "gone")
          .map(({ pod }) => pod)
          .toSorted(),
        ["web-1", "web-2"],
      );
      const third = await observed.first("ready", "web-3");
      const [deleted] = observed.all("deleted");
      assert.ok(
        third.at <= (deleted?.at ?? 0),
        "maxUnavailable 25 % of 2 is 0: nothing goes before a new pod is ready",
      );
      assert.equal(observed.stage.troubles.crashes, 0);
    },
  );
}
