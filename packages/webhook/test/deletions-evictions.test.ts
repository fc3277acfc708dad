import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Item } from "../../kube/test/fake-api.ts";
import { heldMark, surgeLabel } from "@lameduck/protocol";
import { eviction, replicaOf, surgePath, type PodApi } from "./deletions-cluster.ts";
import { isHeld, isListed, labelsOf, podOf, shop } from "./deletions-shop.ts";
import { until } from "../../cluster/test/operator-api.ts";

describe("an eviction", { concurrency: true }, () => {
  const budgetFor = (api: PodApi, allowed: number): Item =>
    api.put("policy/poddisruptionbudgets", "web", {
      metadata: { namespace: "shop", generation: 1 },
      spec: { selector: { matchLabels: { app: "web" } } },
      status: { disruptionsAllowed: allowed, observedGeneration: 1 },
    });

  it("any replica puts an eviction off until another pod is ready and senders have stopped sending", async () => {
    const api = await shop(2);
    await using _api = api;
    budgetFor(api, 1);
    await using one = await replicaOf(api);
    await using two = await replicaOf(api);
    const first = await one.call(eviction(podOf(api, "web-0")));
    assert.deepEqual([first.allowed, first.code, first.retryAfter], [false, 429, 5]);
    assert.match(first.message ?? "", /another pod is being started first/);
    api.change("pods", "web-0", { metadata: { ownerReferences: [] } });
    assert.match(
      (await two.call(eviction(podOf(api, "web-0")))).message ?? "",
      /another pod is not ready yet/,
    );
    api.pod("web-new");
    assert.match((await two.call(eviction(podOf(api, "web-0")))).message ?? "", /senders still send/);
    const { status } = api.get("policy/poddisruptionbudgets", "web") as unknown as {
      status: { disruptionsAllowed: number; disruptedPods: Record<string, string> };
    };
    assert.equal(status.disruptionsAllowed, 0, "taken as the API server would");
    assert.ok(status.disruptedPods["web-0"]);
    await until(() => !isListed(api, "web-0"), "withdrawn");
    let last = await one.call(eviction(podOf(api, "web-0")));
    while (!last.allowed) {
      assert.ok(last.took < 1_000, "no call waits");
      last = await one.call(eviction(podOf(api, "web-0")));
    }
    assert.ok([...one.outcomes(), ...two.outcomes()].includes("waited"));
    assert.deepEqual([...one.problems, ...two.problems], []);
  });

  it("an eviction is refused as long as the budget refuses it, and its pod stays in its Services", async () => {
    const api = await shop(2);
    await using _api = api;
    budgetFor(api, 0);
    await using replica = await replicaOf(api);
    await replica.call(eviction(podOf(api, "web-0")));
    api.change("pods", "web-0", { metadata: { ownerReferences: [] } });
    api.pod("web-new");
    for (let time = 0; time < 3; time++) {
      const { allowed, message } = await replica.call(eviction(podOf(api, "web-0")));
      assert.equal(allowed, false);
      assert.match(message ?? "", /budget web allows no disruption/);
    }
    assert.equal(labelsOf(api, "web-0")["app"], "web");
  });

  it("an eviction that nobody asks for any more leaves the pod as it was", async () => {
    const api = await shop(2);
    await using _api = api;
    await using replica = await replicaOf(api);
    await replica.call(eviction(podOf(api, "web-0")));
    assert.ok(isHeld(api, "web-0"));
    const annotations = podOf(api, "web-0").metadata["annotations"] as Record<string, string>;
    const text = annotations[heldMark] ?? "";
    const mark = { ...(JSON.parse(text) as object), until: 1 };
    api.change("pods", "web-0", { metadata: { annotations: { [heldMark]: JSON.stringify(mark) } } });
    await until(() => !isHeld(api, "web-0"), "restored");
    assert.deepEqual(labelsOf(api, "web-0"), { app: "web", "pod-template-hash": "1", team: "a" });
  });

  it("times of the future in a mark, which anybody may write into a pod, put no eviction off for ever", async () => {
    const api = await shop(2, 3_000);
    await using _api = api;
    await using replica = await replicaOf(api);
    const far = Date.parse("3000-01-01T00:00:00Z");
    const writeInto = (name: string, step: string, times: object): void => {
      const whole = { step, by: "evict", labels: {}, began: far, stepBegan: far, until: far, ...times };
      const annotations = { [heldMark]: JSON.stringify(whole) };
      const labels = { [heldMark]: step };
      api.change("pods", name, { metadata: { annotations, labels, ownerReferences: [] } });
    };
    const soon = Date.now() + 600_000;
    writeInto("web-0", "withdrawn", { until: soon });
    assert.ok((await replica.call(eviction(podOf(api, "web-0")))).allowed, "as at the end of its limit");
    // Its owner makes no other pod, and is not waited for.
    writeInto("web-1", "replacing", { until: soon, replicaSet: "web-1" });
    const { message } = await replica.call(eviction(podOf(api, "web-1")));
    assert.match(message ?? "", /senders still send/);
    writeInto("web-0", "withdrawn", {});
    await until(() => !isHeld(api, "web-0"), "restored");
  });

  it("an eviction that is held and waits for a surge, too, is let through when both have ended", async () => {
    const api = await shop(1);
    await using _api = api;
    api.pod("web-0", {
      metadata: { labels: { app: "web", "pod-template-hash": "1", [surgeLabel]: "enabled" } },
    });
    await using replica = await replicaOf(api);
    const both = async (): Promise<boolean> => {
      const answers = await Promise.all([
        replica.call(eviction(podOf(api, "web-0")), undefined, surgePath),
        replica.call(eviction(podOf(api, "web-0"))),
      ]);
      return answers.every(({ allowed }) => allowed);
    };
    assert.ok(!(await both()));
    api.change("pods", "web-0", { metadata: { ownerReferences: [] } });
    assert.ok(!(await both()));
    api.pod("web-new");
    while (!(await both()));
    const ends = new Set(replica.outcomes());
    assert.deepEqual([ends.has("replaced"), ends.has("waited")], [true, true]);
    assert.deepEqual(replica.problems, []);
  });

  it("an eviction is let through where there is nothing to hold", async () => {
    const api = await shop(2);
    await using _api = api;
    await using replica = await replicaOf(api);
    api.change("pods", "web-0", { metadata: { annotations: { "lameduck.dev/injected": "0.1.0" } } });
    assert.ok((await replica.call(eviction(podOf(api, "web-0")))).allowed);
    const dry = { object: { deleteOptions: { dryRun: ["All"] } } };
    assert.ok((await replica.call(eviction(podOf(api, "web-1"), dry))).allowed);
    assert.ok((await replica.call(eviction({ metadata: { name: "none", uid: "x" } }))).allowed);
    assert.deepEqual(replica.outcomes(), ["injected", "dry-run", "gone"]);
    assert.ok(!isHeld(api, "web-1"));
  });
});
