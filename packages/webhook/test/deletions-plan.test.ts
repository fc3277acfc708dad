import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { type KubernetesClient, selects, type Pod } from "@lameduck/kube";
import fc from "fast-check";
import { deletionCallOf } from "../src/deletions/deletion-call.ts";
import { policyKeys } from "../src/deletions/facts.ts";
import { reasonNotToHoldPod, reasonNotToHoldCall } from "../src/deletions/not-held.ts";
import { markingPatch, markOf, restoringPatch } from "../src/deletions/mark.ts";
import { planRemoval, withoutLabels, type Owner, type PlanFacts } from "../src/deletions/plan.ts";
import { coordinatorSource } from "../src/deletions/consumers.ts";
import { vectorsOf } from "../../protocol/test/vectors.ts";
import { alwaysExempt } from "../src/deletions/settings.ts";
import { heldMark } from "@lameduck/protocol";

const keys = ["app", "tier", "track", "version", "pod-template-hash"] as const;
const labels = fc.dictionary(fc.constantFrom(...keys), fc.constantFrom("a", "b"), {
  minKeys: 1,
  noNullPrototype: true,
});
const chosen = (of: Readonly<Record<string, string>>): fc.Arbitrary<Record<string, string>> =>
  fc.subarray(Object.entries(of), { minLength: 1 }).map((entries) => Object.fromEntries(entries));

const facts: fc.Arbitrary<PlanFacts> = labels.chain((own) =>
  fc.record({
    labels: fc.constant(own),
    services: fc.array(
      chosen(own).map((selector) => ({ name: "s", selector: Object.entries(selector) })),
      { maxLength: 6 },
    ),
    owner: fc.oneof(
      fc.constant<Owner>({ kind: "none" }),
      fc.constant<Owner>({ kind: "unknown" }),
      fc
        .tuple(fc.constantFrom("ReplicaSet", "StatefulSet"), chosen(own))
        .map(([kind, matchLabels]): Owner => ({ kind, selector: { matchLabels } })),
    ),
    budgets: fc.array(
      chosen(own).map((matchLabels) => ({ matchLabels })),
      { maxLength: 2 },
    ),
    policyKeys: fc.subarray([...keys]).map((some) => new Set<string>(some)),
  }),
);

describe("the labels that are taken", () => {
  it("a pod without the labels that a hold takes is in no Service, and these labels are as few and as harmless as can be", () => {
    fc.assert(
      fc.property(facts, (given) => {
        const plan = planRemoval(given);
        if ("because" in plan) return;
        const left = withoutLabels(given.labels, plan.remove);
        const leads = (to: typeof left): boolean =>
          given.services.some(({ selector }) => selector.every(([key, value]) => to[key] === value));
        assert.ok(!leads(left));
        for (const key of plan.remove) {
          assert.ok(!given.policyKeys.has(key));
          // None of them could stay.
          assert.ok(
            leads(
              withoutLabels(
                given.labels,
                plan.remove.filter((one) => one !== key),
              ),
            ),
            key,
          );
        }
        const { owner } = given;
        if ("selector" in owner && owner.kind === "StatefulSet") assert.ok(selects(owner.selector, left));
        // Wherever it can be done without the owner's labels, it is.
        if ("selector" in owner && !selects(owner.selector, left)) {
          const own = Object.keys(owner.selector.matchLabels ?? {});
          const free = given.services.every(({ selector }) =>
            selector.some(([key]) => !own.includes(key) && !given.policyKeys.has(key)),
          );
          assert.ok(!free);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("a hold takes no labels where nothing leads to the pod, or where something else would be cut", () => {
    const services = [{ name: "web", selector: [["app", "a"]] as const }];
    const none = { labels: { app: "a" }, services, budgets: [], policyKeys: new Set<string>() };
    const selector = { matchLabels: { app: "a" } };
    const because = (changes: Partial<PlanFacts>): unknown => {
      const plan = planRemoval({ owner: { kind: "none" }, ...none, ...changes });
      return "because" in plan ? plan.because : plan.remove;
    };
    assert.deepEqual(because({}), ["app"]);
    assert.equal(because({ services: [] }), "nothing-leads-to-it");
    assert.equal(because({ owner: { kind: "unknown" } }), "owner-unknown");
    assert.equal(because({ owner: { kind: "StatefulSet", selector } }), "owner-needs-label");
    assert.equal(because({ policyKeys: new Set(["app"]) }), "network-policy-needs-label");
    assert.deepEqual(because({ owner: { kind: "ReplicaSet", selector } }), ["app"]);
  });
});

describe("a pod that is marked", () => {
  it("a marked pod is as it was when it is restored, and keeps what others have set meanwhile", () => {
    fc.assert(
      fc.property(labels, fc.subarray([...keys]), fc.boolean(), (own, remove, isSet) => {
        const pod = podWith(own);
        const times = { began: 1, stepBegan: 2, until: 3 };
        const held = merged(
          pod,
          markingPatch(pod.metadata, remove, { step: "withdrawn", by: "delete", ...times }),
        );
        const mark = markOf(held);
        assert.deepEqual([mark?.step, mark?.until], ["withdrawn", 3]);
        const [key] = remove;
        const meanwhile =
          isSet && key !== undefined && own[key] !== undefined
            ? merged(held, { metadata: { labels: { [key]: "theirs" } } })
            : held;
        const after = merged(meanwhile, restoringPatch(meanwhile)).metadata;
        const expected = meanwhile === held || key === undefined ? { ...own } : { ...own, [key]: "theirs" };
        assert.deepEqual(after.labels, expected);
        assert.deepEqual(after.annotations ?? {}, {});
      }),
    );
  });

  it("a marked pod whose mark nobody can read only loses the mark", () => {
    for (const text of ["", "{", "null", "[]", '{"step":"withdrawn"}', '{"labels":{"a":1}}', '"x"']) {
      const pod = podWith({ app: "a", [heldMark]: "withdrawn" }, { [heldMark]: text });
      assert.equal(markOf(pod), undefined, text);
      assert.deepEqual(merged(pod, restoringPatch(pod)).metadata.labels, { app: "a" });
    }
  });
});

describe("what is let through at once", () => {
  const whole = { name: "web-1", userInfo: { username: "u", groups: ["g"] }, options: {} };
  const asked = (
    changes: object,
    object?: unknown,
    kind = "Pod",
    group = "",
  ): ReturnType<typeof deletionCallOf> =>
    deletionCallOf({
      uid: "u",
      group,
      kind,
      operation: kind === "Pod" ? "DELETE" : "CREATE",
      namespace: "shop",
      object,
      oldObject: undefined,
      raw: { ...whole, ...changes },
    });
  const because = (request: ReturnType<typeof deletionCallOf>): unknown => {
    assert.ok(request);
    return reasonNotToHoldCall(request, { exempt: [...alwaysExempt, "g2"], ownNamespace: "lameduck-system" });
  };

  it("a request tells why its deletion is let through at once", () => {
    assert.equal(because(asked({})), undefined);
    assert.equal(because(asked({ dryRun: true })), "dry-run");
    assert.equal(because(asked({ options: { gracePeriodSeconds: 0 } })), "at-once");
    assert.equal(because(asked({ options: { gracePeriodSeconds: 1 } })), "at-once");
    assert.equal(because(asked({ options: { gracePeriodSeconds: 30 } })), undefined);
    assert.equal(because(asked({ name: "" })), "collection");
    assert.equal(because(asked({ options: { preconditions: { resourceVersion: "1" } } })), "versioned");
    assert.equal(because(asked({ options: { preconditions: { uid: "1" } } })), undefined);
    assert.equal(because(asked({ userInfo: { username: "system:kube-scheduler" } })), "exempt");
    assert.equal(because(asked({ userInfo: { username: "u", groups: ["system:nodes"] } })), "exempt");
    assert.equal(because(asked({ userInfo: { username: "u", groups: ["g2"] } })), "exempt");
    const eviction = { deleteOptions: { dryRun: ["All"] } };
    assert.equal(because(asked({}, eviction, "Eviction", "policy")), "dry-run");
    assert.equal(
      because(asked({}, { deleteOptions: { gracePeriodSeconds: 0 } }, "Eviction", "policy")),
      "at-once",
    );
    assert.equal(asked({}, {}, "Deployment", "apps"), undefined);
  });

  it("a pod tells why its deletion is let through at once", () => {
    const ready = { conditions: [{ type: "Ready", status: "True" }] };
    const of = (metadata: object, status: object = ready, spec: object = {}): unknown =>
      reasonNotToHoldPod({
        metadata: { name: "p", uid: "1", ...metadata },
        spec: { containers: [], ...spec },
        status,
      });
    assert.equal(of({}), undefined);
    assert.equal(of({ deletionTimestamp: "now" }), "terminating");
    assert.equal(of({}, {}), "not-ready");
    assert.equal(of({}, { conditions: [{ type: "Ready", status: "False" }] }), "not-ready");
    assert.equal(of({ annotations: { "kubernetes.io/config.mirror": "x" } }), "static-pod");
    assert.equal(of({ annotations: { "lameduck.dev/injected": "0.1.0" } }), "injected");
    assert.equal(of({ annotations: { "lameduck.dev/held-deletions": "false" } }), "opted-out");
    assert.equal(of({ labels: { "lameduck.dev/held-deletions": "disabled" } }), "opted-out");
    for (const [kind, expected] of [
      ["Job", "of-a-job"],
      ["DaemonSet", "of-a-daemonset"],
      ["Node", "static-pod"],
    ])
      assert.equal(of({ ownerReferences: [{ kind, name: "o", uid: "2" }] }), expected);
    assert.equal(of({}, ready, { terminationGracePeriodSeconds: 0 }), "at-once");
  });

  it("the choice to hold a deletion never ends in an exception, whatever is sent", () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), fc.constantFrom("Pod", "Eviction"), (object, rest, kind) => {
        const request = deletionCallOf({
          uid: "u",
          group: kind === "Pod" ? "" : "policy",
          kind,
          operation: kind === "Pod" ? "DELETE" : "CREATE",
          namespace: "shop",
          object,
          oldObject: object,
          raw: { name: "x", options: rest, userInfo: rest },
        });
        assert.ok(request);
        reasonNotToHoldCall(request, { exempt: [], ownNamespace: "o" });
      }),
    );
  });
});

it("an answer of the coordinator is silence unless it is understood", async () => {
  let text = "";
  const server = createServer((_request, response) => response.end(text)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const source = coordinatorSource(`http://127.0.0.1:${port}`, undefined);
  const pod = { namespace: "shop", name: "web-1", uid: "1" };
  try {
    for (const vector of vectorsOf("pod-answers")) {
      ({ text } = vector);
      const state = await source.ask(pod, 0, "unknown", AbortSignal.timeout(20_000));
      assert.equal(state, vector.fields?.state ?? "silent", vector.name);
    }
  } finally {
    server.closeAllConnections();
    server.close();
  }
  assert.equal(await source.ask(pod, 0, "unknown", AbortSignal.timeout(20_000)), "silent", "nobody listens");
});

function podWith(own: Readonly<Record<string, string>>, annotations?: Readonly<Record<string, string>>): Pod {
  return {
    metadata: { name: "p", uid: "1", labels: own, ...(annotations ? { annotations } : {}) },
    spec: { containers: [] },
  };
}

/** As the API server merges. */
function merged<T>(before: T, patch: unknown): T {
  if (typeof patch !== "object" || patch === null) return patch as T;
  const result: Record<string, unknown> = { ...(before as object) };
  for (const [key, value] of Object.entries(patch))
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  return result as T;
}

describe("the labels by which NetworkPolicies select", () => {
  const policy = (namespace: string, spec: object): object => ({
    metadata: { name: namespace, namespace },
    spec,
  });
  const selecting = (key: string): object => ({ matchLabels: { [key]: "x" } });
  const peer = { podSelector: selecting("peer"), namespaceSelector: {} };
  const spec = {
    podSelector: selecting("own"),
    ingress: [{ from: [peer, { podSelector: selecting("near") }] }],
  };

  it("all policies are listed once for deletions of one moment, and anew after a failure", async () => {
    let [lists, isBroken] = [0, true];
    const list = async (): Promise<readonly object[]> => {
      lists++;
      await Promise.resolve();
      if (isBroken) throw new Error("too busy");
      return [policy("shop", spec), policy("edge", { podSelector: {} })];
    };
    const keysIn = policyKeys({ list } as unknown as KubernetesClient);
    await assert.rejects(keysIn("shop"), /too busy/);
    isBroken = false;
    const [shop, edge] = await Promise.all([keysIn("shop"), keysIn("edge")]);
    assert.deepEqual([...shop], ["own", "peer", "near"]);
    assert.deepEqual([...edge], ["peer"]);
    assert.equal(lists, 2);
  });
});
