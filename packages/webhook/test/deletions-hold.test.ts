import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { heldMark } from "@lameduck/protocol";
import { restoreAll } from "../src/deletions/restorer.ts";
import { coordinatorSaying, deletion, type PodApi, replicaOf } from "./deletions-cluster.ts";
import { isHeld, labelsOf, podOf, shop } from "./deletions-shop.ts";
import { until } from "../../cluster/test/operator-api.ts";

/** As a replica leaves it that ends in the middle of a hold. */
function withdrawnLongAgo(api: PodApi, name: string): void {
  const mark = {
    step: "withdrawn",
    by: "delete",
    labels: { app: "web" },
    began: 0,
    stepBegan: 0,
    until: 1,
  };
  const metadata = {
    labels: { app: null, [heldMark]: "withdrawn" },
    annotations: { [heldMark]: JSON.stringify(mark) },
  };
  api.change("pods", name, { metadata });
}

describe("a deletion that is held", { concurrency: true }, () => {
  it("a held deletion waits until senders have had their time, and its second call does not", async () => {
    const api = await shop(2, 6);
    await using _api = api;
    await using replica = await replicaOf(api);
    const first = await replica.call(deletion(podOf(api, "web-0")));
    assert.ok(first.allowed && first.took >= 6_000, String(first.took));
    assert.deepEqual(
      Object.keys(labelsOf(api, "web-0")).sort(),
      [heldMark, "pod-template-hash", "team"].sort(),
    );
    const second = await replica.call(deletion(podOf(api, "web-0")));
    assert.ok(second.allowed && second.took < 6_000, String(second.took));
    assert.deepEqual(replica.outcomes(), ["waited", "waited"]);
    assert.deepEqual(replica.problems, []);
  });

  it("a held deletion is recognised by another replica, which waits for the rest only", async () => {
    const api = await shop(2, 6);
    await using _api = api;
    await using one = await replicaOf(api);
    await using other = await replicaOf(api);
    await one.call(deletion(podOf(api, "web-0")));
    const second = await other.call(deletion(podOf(api, "web-0")));
    assert.ok(second.allowed && second.took < 6_000, String(second.took));
  });

  it("a mark of the future, of a replica whose clock is ahead or of anybody, makes no held deletion longer", async () => {
    const api = await shop(2, 1);
    await using _api = api;
    const began = Date.now() + 3_600_000;
    const mark = {
      step: "withdrawn",
      by: "delete",
      labels: { app: "web" },
      began,
      stepBegan: began,
      until: began,
    };
    api.change("pods", "web-0", {
      metadata: {
        annotations: { [heldMark]: JSON.stringify(mark) },
        labels: { app: "", [heldMark]: "withdrawn" },
      },
    });
    api.reconcile();
    await using replica = await replicaOf(api);
    const { allowed, took } = await replica.call(deletion(podOf(api, "web-0")));
    assert.ok(allowed && took < 20_000, String(took));
  });

  it("a held deletion ends when every consumer has reported, and not before", async () => {
    const api = await shop(2, 3_000);
    await using _api = api;
    let state = "waiting";
    await using coordinator = await coordinatorSaying(() => `lameduck 1\nstate: ${state}\nconsumers: 4/5\n`);
    await using replica = await replicaOf(api, { coordinator: coordinator.url });
    const calling = replica.call(deletion(podOf(api, "web-0")));
    await until(() => coordinator.asked.length >= 3, "asked again and again");
    assert.equal(replica.judged.length, 0);
    state = "released";
    assert.ok((await calling).allowed);
    assert.deepEqual(replica.outcomes(), ["released"]);
    assert.match(
      coordinator.asked[0]?.href ?? "",
      /\/v1\/holds\/shop\/web-0\?uid=uid-\d+&wait=10&seen=unknown$/,
    );
  });

  for (const [what, say] of [
    ["is silent", () => undefined],
    ["is no coordinator", () => "<html>"],
    ["misses a consumer", () => "lameduck 1\nstate: incomplete\n"],
    ["does not know the pod", () => "lameduck 1\nstate: unknown\n"],
  ] as const)
    it(`a held deletion waits for senders' time where the coordinator ${what}`, async () => {
      const api = await shop();
      await using _api = api;
      await using coordinator = await coordinatorSaying(say);
      await using replica = await replicaOf(api, { coordinator: coordinator.url });
      const { allowed, took } = await replica.call(deletion(podOf(api, "web-0")));
      assert.ok(allowed && took >= 1_000);
      assert.deepEqual(replica.outcomes(), ["waited"]);
    });

  it("a held deletion ends at its limit over all calls, although consumers have not let go", async () => {
    const api = await shop(2, 3_000);
    await using _api = api;
    await using coordinator = await coordinatorSaying(() => "lameduck 1\nstate: waiting\n");
    await using replica = await replicaOf(api, { coordinator: coordinator.url, limit: 6_000 });
    await using other = await replicaOf(api, { coordinator: coordinator.url, limit: 6_000 });
    const first = await replica.call(deletion(podOf(api, "web-0")));
    assert.ok(first.allowed && first.took >= 5_900, String(first.took));
    const second = await other.call(deletion(podOf(api, "web-0")));
    assert.ok(second.allowed && second.took < 5_000, String(second.took));
    assert.deepEqual([...replica.outcomes(), ...other.outcomes()], ["limit", "limit"]);
  });

  it("a held deletion waits until no slice lists the pod, however late the controller is", async () => {
    const api = await shop(2, 1);
    await using _api = api;
    api.controllerLag = 2_000;
    await using replica = await replicaOf(api);
    assert.ok((await replica.call(deletion(podOf(api, "web-0")))).took >= 2_000);
  });

  it("a deletion is held to its end where the pod's budget cannot be told of it", async () => {
    const api = await shop(2, 2);
    await using _api = api;
    api.put("policy/poddisruptionbudgets", "web", {
      metadata: { namespace: "shop" },
      spec: { selector: { matchLabels: { app: "web" } } },
    });
    api.fault = ({ method, resource }) =>
      method === "PATCH" && resource === "policy/poddisruptionbudgets"
        ? { status: 403, body: { reason: "Forbidden", message: "a policy says no" } }
        : undefined;
    await using replica = await replicaOf(api);
    const { allowed, took } = await replica.call(deletion(podOf(api, "web-0")));
    assert.ok(allowed && took >= 2_000, String(took));
    assert.deepEqual(replica.outcomes(), ["waited"]);
    assert.match(String(replica.problems), /a policy says no/);
  });

  it("a pod is as it was after the caller of its held deletion has left", async () => {
    const api = await shop(2, 3_000);
    await using _api = api;
    await using replica = await replicaOf(api);
    const leave = new AbortController();
    const calling = replica.call(deletion(podOf(api, "web-0")), leave.signal).catch(() => "left");
    await until(() => isHeld(api, "web-0"), "held");
    leave.abort();
    assert.equal(await calling, "left");
    await until(() => !isHeld(api, "web-0"), "restored");
    assert.deepEqual(labelsOf(api, "web-0"), { app: "web", "pod-template-hash": "1", team: "a" });
    await until(() => replica.restored() === 1, "counted");
    assert.equal(replica.holder.size, 0);
  });

  it("a pod is restored where its deletion was allowed and does not happen, and is left alone where the deletion happens", async () => {
    const api = await shop(3);
    await using _api = api;
    await using replica = await replicaOf(api);
    await Promise.all([
      replica.call(deletion(podOf(api, "web-0"))),
      replica.call(deletion(podOf(api, "web-1"))),
    ]);
    api.change("pods", "web-1", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } });
    await until(() => !isHeld(api, "web-0"), "restored");
    assert.ok(isHeld(api, "web-1"));
  });

  it("a held pod is restored when the process ends in the middle of the hold, or by the next process", async () => {
    const api = await shop(3, 3_000);
    await using _api = api;
    {
      await using replica = await replicaOf(api);
      void replica.call(deletion(podOf(api, "web-0"))).catch(() => undefined);
      await until(() => isHeld(api, "web-0"), "held");
    }
    assert.ok(!isHeld(api, "web-0"));
    withdrawnLongAgo(api, "web-1");
    await using _next = await replicaOf(api);
    await until(() => !isHeld(api, "web-1"), "restored");
    assert.equal(labelsOf(api, "web-1")["app"], "web");
  });

  it("a pod that cannot be restored keeps no other from it, be it of a replica that died or of an operator that is taken away", async () => {
    for (const restore of ["replica", "uninstall"] as const) {
      const api = await shop(3, 1);
      await using _api = api;
      for (const name of ["web-0", "web-1", "web-2"]) withdrawnLongAgo(api, name);
      api.fault = ({ method, name }) =>
        method === "PATCH" && name === "web-0"
          ? { status: 403, body: { reason: "Forbidden", message: "a policy says no" } }
          : method === "PATCH" && name === "web-1"
            ? { status: 409, body: { reason: "Conflict", message: "another pod has that name" } }
            : undefined;
      if (restore === "replica") {
        await using replica = await replicaOf(api);
        await until(() => !isHeld(api, "web-2"), "restored");
        assert.match(String(replica.problems), /a policy says no/);
      } else {
        const restored: string[] = [];
        const client = api.client();
        await assert.rejects(
          restoreAll(client, new AbortController().signal, (pod) => restored.push(pod)),
          /a policy says no/,
        );
        client.close();
        assert.deepEqual(restored, ["shop/web-2"]);
      }
      assert.equal(labelsOf(api, "web-2")["app"], "web");
    }
  });

  it("a deletion is let through at once where too many are held, where a NetworkPolicy needs a label, and where it takes the last endpoint", async () => {
    const api = await shop(3, 3_000);
    await using _api = api;
    await using replica = await replicaOf(api, { mostAtOnce: 1, limit: 8_000 });
    const first = replica.call(deletion(podOf(api, "web-0")));
    await until(() => isHeld(api, "web-0"), "held");
    assert.ok((await replica.call(deletion(podOf(api, "web-1")))).took < 6_000);
    await first;
    api.put("networking.k8s.io/networkpolicies", "np", {
      metadata: { namespace: "shop" },
      spec: { podSelector: { matchLabels: { app: "web" } } },
    });
    await replica.call(deletion(podOf(api, "web-1")));
    api.remove("networking.k8s.io/networkpolicies", "np");
    // Its owner's own deletion wants no other pod.
    api.remove("pods", "web-1");
    api.reconcile();
    const user = { userInfo: { username: "system:serviceaccount:kube-system:replicaset-controller" } };
    await until(() => !isHeld(api, "web-0") || api.get("pods", "web-0") === undefined, "restored");
    api.remove("pods", "web-0");
    api.reconcile();
    await new Promise((resolve) => setTimeout(resolve, 200));
    await replica.call(deletion(podOf(api, "web-2"), user));
    assert.deepEqual(replica.outcomes().sort(), [
      "last-endpoint",
      "limit",
      "network-policy-needs-label",
      "too-many",
    ]);
    assert.ok(!isHeld(api, "web-2"));
  });

  it("a held deletion of the last endpoint has the pod's owner make another pod first", async () => {
    const api = await shop(1);
    await using _api = api;
    await using replica = await replicaOf(api);
    const calling = replica.call(deletion(podOf(api, "web-0")));
    await until(() => labelsOf(api, "web-0")[heldMark] === "replacing", "let go by its owner");
    assert.equal(labelsOf(api, "web-0")["app"], "web", "it serves on");
    assert.equal(labelsOf(api, "web-0")["pod-template-hash"], undefined);
    api.pod("web-new");
    assert.ok((await calling).allowed);
    assert.equal(labelsOf(api, "web-0")["app"], undefined);
    assert.deepEqual(replica.outcomes(), ["waited"]);
  });

  it("a call to a path without the secret holds no deletion, and withdraws nothing", async () => {
    const api = await shop();
    await using _api = api;
    await using replica = await replicaOf(api);
    for (const path of ["/hold", "/hold/", "/hold/guessed", "/hold/secret/x"]) {
      const { allowed } = await replica.call(deletion(podOf(api, "web-0")), undefined, path);
      assert.ok(allowed && !isHeld(api, "web-0"), path);
    }
    assert.deepEqual(replica.outcomes(), []);
  });

  it("a held deletion is allowed where the API server refuses what the hold needs", async () => {
    const api = await shop();
    await using _api = api;
    await using replica = await replicaOf(api);
    api.fault = ({ method }) =>
      method === "PATCH" ? { status: 500, body: { message: "broken" } } : undefined;
    const { allowed, took } = await replica.call(deletion(podOf(api, "web-0")));
    assert.ok(allowed && took < 20_000);
    assert.deepEqual([replica.outcomes(), replica.problems.length], [["fault"], 1]);
  });
});
