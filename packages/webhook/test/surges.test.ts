import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { heldMark, injectedAnnotation, surgeLabel } from "@lameduck/protocol";
import type { Item } from "../../kube/test/fake-api.ts";
import { eviction, replicaOf, surgePath, type Called, type PodApi } from "./deletions-cluster.ts";
import { isHeld, isListed, labelsOf, podOf, shop } from "./deletions-shop.ts";

const alone = { surgesAlone: true } as const;
const chosen = { app: "web", "pod-template-hash": "1", [surgeLabel]: "enabled" };

describe("a surge before an eviction", { concurrency: true }, () => {
  type Replica = Awaited<ReturnType<typeof replicaOf>>;
  const evict = (replica: Replica, api: PodApi, changes: object = {}): Promise<Called> =>
    replica.call(eviction(podOf(api, "web-0"), changes), undefined, surgePath);
  const isOwned = (api: PodApi): boolean => "pod-template-hash" in labelsOf(api, "web-0");

  it("the eviction of an only pod waits until its owner has made another, and the pod serves on meanwhile", async () => {
    const api = await shop(1);
    await using _api = api;
    // It holds itself: what it lacks is another pod.
    api.pod("web-0", { metadata: { labels: chosen, annotations: { [injectedAnnotation]: "0.1.0" } } });
    await using one = await replicaOf(api, alone);
    await using two = await replicaOf(api, alone);
    const first = await evict(one, api);
    assert.deepEqual([first.allowed, first.code, first.retryAfter], [false, 429, 5]);
    assert.match(first.message ?? "", /another pod is being started first/);
    assert.ok(!isOwned(api));
    // As the ReplicaSet controller does with a pod that its selector does not match.
    api.change("pods", "web-0", { metadata: { ownerReferences: [] } });
    assert.match((await evict(two, api)).message ?? "", /another pod is not ready yet/);
    assert.ok(isListed(api, "web-0"));
    api.pod("web-new");
    assert.ok((await evict(two, api)).allowed);
    assert.ok(isListed(api, "web-0"), "until the eviction itself takes it away");
    assert.deepEqual([...one.outcomes(), ...two.outcomes()], ["later", "later", "replaced"]);
    assert.deepEqual([...one.problems, ...two.problems], []);
  });

  it("an eviction is let through where no other pod comes in time", async () => {
    const api = await shop(1);
    await using _api = api;
    api.pod("web-0", { metadata: { labels: chosen } });
    await using replica = await replicaOf(api, { ...alone, surgeReplacement: 1 });
    assert.ok(!(await evict(replica, api)).allowed);
    api.change("pods", "web-0", { metadata: { ownerReferences: [] } });
    let last = await evict(replica, api);
    while (!last.allowed) last = await evict(replica, api);
    assert.equal(replica.outcomes().at(-1), "no-replacement");
    assert.ok(
      isHeld(api, "web-0"),
      "until nobody asks any more: then it is put back as after evictions that are held",
    );
  });

  it("a surge that began in the future, as anybody may write into a pod, is over", async () => {
    const api = await shop(1);
    await using _api = api;
    const far = Date.parse("3000-01-01T00:00:00Z");
    const times = { began: far, stepBegan: far, until: Date.now() + 600_000 };
    const mark = { step: "replacing", by: "evict", labels: {}, ...times, replicaSet: "web-1" };
    const annotations = { [heldMark]: JSON.stringify(mark) };
    api.pod("web-0", { metadata: { labels: chosen, annotations, ownerReferences: [] } });
    await using replica = await replicaOf(api, alone);
    assert.ok((await evict(replica, api)).allowed);
    assert.deepEqual(replica.outcomes(), ["no-replacement"]);
  });

  const others: readonly {
    readonly what: string;
    readonly outcome: string;
    readonly change?: (api: PodApi) => Item;
    readonly call?: object;
  }[] = [
    {
      what: "a pod that does not ask for it",
      outcome: "not-chosen",
      change: (api) => api.pod("web-0"),
    },
    {
      what: "a pod that asks for it by another value",
      outcome: "not-chosen",
      change: (api) => api.pod("web-0", { metadata: { labels: { ...chosen, [surgeLabel]: "false" } } }),
    },
    {
      what: "one of several pods",
      outcome: "several-replicas",
      change: (api) =>
        api.change("apps/replicasets", "web-1", {
          spec: { replicas: 2, selector: { matchLabels: { app: "web", "pod-template-hash": "1" } } },
        }),
    },
    {
      what: "a pod of a StatefulSet",
      outcome: "not-replaceable",
      change: (api) =>
        api.pod("web-0", {
          metadata: {
            labels: chosen,
            ownerReferences: [{ kind: "StatefulSet", name: "web", uid: "s", controller: true }],
          },
        }),
    },
    {
      what: "a pod of nobody",
      outcome: "not-replaceable",
      change: (api) => api.pod("web-0", { metadata: { labels: chosen, ownerReferences: [] } }),
    },
    {
      what: "a pod whose Service selects by the owner's label",
      outcome: "not-replaceable",
      change: (api) =>
        api.put("services", "web", {
          metadata: { namespace: "shop" },
          spec: { selector: { app: "web", "pod-template-hash": "1" } },
        }),
    },
    {
      what: "a pod that is not ready",
      outcome: "not-ready",
      change: (api) =>
        api.change("pods", "web-0", {
          status: { conditions: [{ type: "Ready", status: "False" }] },
        }),
    },
    { what: "a dry run", outcome: "dry-run", call: { object: { deleteOptions: { dryRun: ["All"] } } } },
    {
      what: "an eviction without grace",
      outcome: "at-once",
      call: { object: { deleteOptions: { gracePeriodSeconds: 0 } } },
    },
  ];
  for (const { what, outcome, change, call } of others)
    it(`a surge is not made for ${what}`, async () => {
      const api = await shop(1);
      await using _api = api;
      api.pod("web-0", { metadata: { labels: chosen } });
      change?.(api);
      await using replica = await replicaOf(api, alone);
      const before = JSON.stringify(podOf(api, "web-0"));
      const last = await evict(replica, api, call);
      assert.ok(last.allowed);
      assert.deepEqual(replica.outcomes(), [outcome]);
      assert.equal(JSON.stringify(podOf(api, "web-0")), before);
    });
});
