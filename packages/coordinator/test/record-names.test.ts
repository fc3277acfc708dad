import assert from "node:assert/strict";
import test from "node:test";
import type { TerminationView } from "../src/termination-view.ts";
import { until } from "../../cluster/test/operator-api.ts";
import { coordinating } from "./fixture.ts";

test("a record still names the consumers of a pod that is gone and that no EndpointSlice lists", async () => {
  const ended: TerminationView[] = [];
  await using all = await coordinating(
    (scene) => {
      scene.node("node1");
      scene.pod("web-1", "127.0.0.5");
    },
    { listeners: [(termination, what) => void (what === "ended" && ended.push(termination))] },
  );
  const { scene, report, follow } = all;
  await follow("node1");
  scene.terminate("web-1");
  scene.withdraw("web-1");
  const { epoch } = await report("node1");
  await until(() => all.coordinator.status().head === 1, "the withdrawal");
  await report("node1", { epoch, applied: 1, known: 1 });
  // As it goes in a cluster: the slice leaves it out when its containers have ended, and then its object is removed.
  scene.api.change("discovery.k8s.io/endpointslices", "web-1", { endpoints: [] });
  scene.gone("web-1");
  await until(() => ended.length === 1, "the end");
  const [one] = ended;
  assert.deepEqual(
    [...(one?.consumers ?? [])].map(([name, { appliedAt }]) => [name, appliedAt !== undefined]),
    [["kube-proxy/node1", true]],
  );
});
