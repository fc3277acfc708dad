import assert from "node:assert/strict";
import test from "node:test";
import { setImmediate } from "node:timers/promises";
import { findLosingWorkloads } from "@lameduck/audit/losing-workloads";
import { inject, podToInject, defaultSettings, applyPatch } from "@lameduck/inject";
import { ClusterView } from "../../webhook/src/cluster-view.ts";
import { auditedByWebhook } from "../../webhook/src/workload-audit/workload-audit.ts";
import { LeaderTasks } from "../../webhook/src/leader-tasks.ts";
import { workloadAuditRights, operatorRights } from "../src/rights.ts";
import { deployments, losing, shop, sound } from "../../webhook/test/losing-workload.ts";
import { OperatorApi, until } from "../../cluster/test/operator-api.ts";

const policies = "lameduck.dev/drainpolicies";

const policy = (api: OperatorApi, namespace: string): void =>
  void api.put(policies, "default", { metadata: { namespace, generation: 1 }, spec: {} });

interface Told extends AsyncDisposable {
  readonly api: OperatorApi;
  readonly problems: string[];
}

/** One replica that leads, before an API server that `prepare` fills. */
async function told(prepare: (api: OperatorApi) => void, { isOn = true } = {}): Promise<Told> {
  const api = await OperatorApi.start();
  prepare(api);
  const client = api.client();
  const problems: string[] = [];
  const onProblem = (part: string, error: unknown): void => void problems.push(`${part}: ${String(error)}`);
  const view = new ClusterView(client, { retryMs: 20, onProblem, onChange: () => tasks.reconcileSoon() });
  const tasks = new LeaderTasks({
    client,
    view,
    namespace: "lameduck-system",
    name: "replica",
    files: undefined,
    onWrite: () => undefined,
    onProblem,
    auditEveryMs: isOn ? 100 : undefined,
    auditPauseMs: 20,
  });
  view.start();
  tasks.start();
  return {
    api,
    problems,
    [Symbol.asyncDispose]: async () => {
      await tasks.stop();
      await view.stop();
      client.close();
      await api.stop();
    },
  };
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

function conditions(api: OperatorApi): readonly Condition[] {
  const { status } = (api.get(policies, "default") ?? {}) as { status?: { conditions?: Condition[] } };
  return status?.conditions ?? [];
}

const losesRequests = (api: OperatorApi): Condition | undefined =>
  conditions(api).find(({ type }) => type === "LosesRequests");

test("the DrainPolicy of a namespace says which workloads will lose requests, until they are mended", async () => {
  await using all = await told((api) => {
    shop(api);
    policy(api, "shop");
  });
  const { api } = all;
  await until(() => losesRequests(api)?.status === "True", "told");
  const before = losesRequests(api);
  assert.equal(before?.reason, "AuditErrors");
  assert.match(before.message, /^1 of 1 workload: deployment\/web: .*\(prestop-exceeds-grace\)/);
  assert.equal(conditions(api).find(({ type }) => type === "Accepted")?.status, "True", "beside the other");
  const writes = (): number =>
    api.asked.filter(({ sub, method }) => sub === "status" && method === "PATCH").length;
  const [written, lists] = [writes(), api.asked.length];
  await until(() => api.asked.length > lists + 60, "further rounds");
  assert.equal(writes(), written, "what is the same is not written again");
  api.change(deployments, "web", { spec: { template: sound } });
  await until(() => losesRequests(api)?.status === "False", "mended");
  assert.equal(losesRequests(api)?.message, "0 of 1 workload");
});

test("an Event of the workload says what is wrong with it, once for all rounds of a minute", async () => {
  await using all = await told(shop);
  const { api } = all;
  await until(() => api.items("events").length > 0, "an Event");
  const [event] = api.items("events");
  const { uid } = api.get(deployments, "web")!.metadata;
  assert.deepEqual(event?.["involvedObject"], {
    kind: "Deployment",
    name: "web",
    namespace: "shop",
    apiVersion: "apps/v1",
    uid,
  });
  assert.deepEqual([event["reason"], event["type"]], ["LosesRequests", "Warning"]);
  assert.match(String(event["message"]), /\(prestop-exceeds-grace\)/);
  const lists = api.asked.length;
  await until(() => api.asked.length > lists + 60, "further rounds");
  assert.equal(api.items("events").length, 1);
  assert.equal(
    api.asked.filter(({ method, resource }) => method === "PATCH" && resource === "events").length,
    0,
  );
  assert.equal(api.asked.filter(({ resource, name }) => resource === deployments && name !== "").length, 0);
});

test("the cluster's DrainPolicy speaks for namespaces without one, by their names", async () => {
  await using all = await told((api) => {
    shop(api);
    api.put("namespaces", "edge", { metadata: { labels: { "lameduck.dev/inject": "enabled" } } });
    policy(api, "lameduck-system");
  });
  await until(() => losesRequests(all.api) !== undefined, "told");
  assert.match(losesRequests(all.api)!.message, /shop\/deployment\/web: /);
});

test("a workload is judged by its youngest pod: what admission has put into it counts", async () => {
  const facts = { lameduckVersion: "0.1.0", exposedBy: ["Service web"], version: { major: 1, minor: 36 } };
  const none = { convergenceSeconds: undefined, architectures: undefined };
  const plain = {
    ...sound,
    spec: { ...sound.spec, containers: [{ name: "web", image: "nginx:1", ports: [{ containerPort: 80 }] }] },
  };
  const injected = applyPatch(
    plain,
    inject(podToInject(plain), defaultSettings, { ...facts, ...none }).patch,
  ) as {
    metadata: object;
    spec: object;
  };
  const owner = { kind: "ReplicaSet", name: "web-5c69", uid: "r", controller: true };
  await using all = await told((api) => {
    shop(api, losing);
    policy(api, "shop");
    for (const [name, pod, creationTimestamp] of [
      ["web-5c69-new", injected, "2026-01-02T00:00:00Z"],
      ["web-5c69-old", losing, "2026-01-01T00:00:00Z"],
      ["web-5c69-ended", losing, "2026-01-03T00:00:00Z"],
    ] as const)
      api.put("pods", name, {
        metadata: {
          namespace: "shop",
          creationTimestamp,
          ownerReferences: [owner],
          ...(name.endsWith("ended") ? { deletionTimestamp: creationTimestamp } : {}),
          ...pod.metadata,
          labels: { app: "web", "pod-template-hash": "5c69" },
        },
        spec: pod.spec,
      });
  });
  await until(() => losesRequests(all.api) !== undefined, "told");
  assert.equal(losesRequests(all.api)?.status, "False", losesRequests(all.api)?.message);
});

test("where a kind may not be listed it is unknown, never a pass", async () => {
  await using all = await told((api) => {
    shop(api, sound);
    policy(api, "shop");
    api.fault = ({ resource }) =>
      resource === "policy/poddisruptionbudgets" ? { status: 403, body: { message: "no" } } : undefined;
  });
  await until(() => losesRequests(all.api) !== undefined, "told");
  const { status, reason, message } = losesRequests(all.api)!;
  assert.deepEqual([status, reason], ["Unknown", "NotRead"]);
  assert.match(message, /not all looked at \(no right, or too many\): policy\/PodDisruptionBudget/);
});

test("who may write one namespace fills no memory: what is too much is left out, and said", async () => {
  await using all = await told((api) => {
    shop(api, sound);
    policy(api, "shop");
    const annotations = { text: "x".repeat(1_200_000) };
    api.put("networking.k8s.io/ingresses", "large", {
      metadata: { namespace: "shop", annotations },
      spec: {},
    });
  });
  await until(() => losesRequests(all.api) !== undefined, "told");
  assert.match(losesRequests(all.api)?.message ?? "", /or too many\): networking\.k8s\.io\/Ingress/);
  assert.equal(losesRequests(all.api)?.status, "Unknown");
});

test("who may write one namespace does not keep the processor busy: what is too much is not audited, and said", async () => {
  await using api = await OperatorApi.start();
  shop(api);
  const annotations = { text: "x".repeat(50_000) };
  api.put("services", "large", { metadata: { namespace: "shop", annotations }, spec: {} });
  for (let index = 0; index < 59; index++)
    api.put(deployments, `web-${index}`, { metadata: { namespace: "shop" }, spec: { template: losing } });
  const client = api.client();
  const options = { types: auditedByWebhook, kubernetes: 36, mostAudited: 150_000 };
  const found = await findLosingWorkloads(client, "shop", options);
  client.close();
  assert.deepEqual(found.notRead, ["apps/Deployment"]);
  assert.deepEqual([found.findings.length, found.workloads], [40, 60]);
});

test("while a namespace is audited others get their turn", async () => {
  await using api = await OperatorApi.start();
  const env = Array.from({ length: 200 }, (_, at) => ({ name: `VARIABLE_${at}`, value: "x".repeat(50) }));
  const [container] = losing.spec.containers;
  const template = { ...losing, spec: { ...losing.spec, containers: [{ ...container, env }] } };
  for (let index = 0; index < 20; index++)
    api.put(deployments, `web-${index}`, { metadata: { namespace: "shop" }, spec: { template } });
  const client = api.client();
  const began = performance.now();
  const ending = new AbortController();
  let [longest, last] = [0, began];
  const turns = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      await setImmediate();
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }
  };
  const turning = turns();
  const { findings } = await findLosingWorkloads(client, "shop", { types: auditedByWebhook, kubernetes: 36 });
  ending.abort();
  await turning;
  client.close();
  assert.equal(findings.length, 20);
  const total = performance.now() - began;
  assert.ok(longest < total / 2, `${longest} of ${total} ms in one turn`);
});

test("thousands of workloads of one namespace do not fill the Events of others", async () => {
  await using all = await told((api) => {
    shop(api);
    for (let index = 0; index < 60; index++)
      api.put(deployments, `web-${index}`, { metadata: { namespace: "shop" }, spec: { template: losing } });
  });
  const { api } = all;
  await until(() => api.items("events").length === 50, "their Events");
  const lists = api.asked.length;
  await until(() => api.asked.length > lists + 120, "further rounds");
  assert.equal(api.items("events").length, 50);
});

test("a namespace that cannot be read keeps what was said of it, and the other tasks go on", async () => {
  await using all = await told((api) => {
    shop(api);
    policy(api, "shop");
  });
  const { api, problems } = all;
  await until(() => losesRequests(api)?.status === "True", "told");
  api.fault = ({ resource }) =>
    resource === deployments ? { status: 500, body: { message: "broken" } } : undefined;
  await until(() => problems.some((one) => one.startsWith("workload-audit: ")), "a problem");
  assert.equal(losesRequests(api)?.status, "True");
});

test("a namespace that can never be looked at is named, and what is known of others is said", async () => {
  for (const [template, status] of [
    [losing, "True"],
    [sound, "Unknown"],
  ] as const) {
    await using all = await told((api) => {
      shop(api, template);
      api.put("namespaces", "broken", { metadata: { labels: { "lameduck.dev/inject": "enabled" } } });
      policy(api, "lameduck-system");
      api.fault = ({ url }) =>
        url.pathname.includes("/namespaces/broken/deployments")
          ? { status: 500, body: { message: "broken" } }
          : undefined;
    });
    await until(() => losesRequests(all.api) !== undefined, "told");
    assert.equal(losesRequests(all.api)?.status, status);
    assert.match(losesRequests(all.api)?.message ?? "", /of 1 workload.*; looking failed: broken$/);
  }
});

test("a namespace that was sound and cannot be looked at any more is not called so for ever", async () => {
  await using all = await told((api) => {
    shop(api, sound);
    policy(api, "shop");
  });
  const { api, problems } = all;
  await until(() => losesRequests(api)?.status === "False", "told");
  api.fault = ({ resource }) =>
    resource === deployments ? { status: 500, body: { message: "broken" } } : undefined;
  await until(() => problems.filter((one) => one.startsWith("workload-audit: ")).length === 1, "a problem");
  assert.equal(losesRequests(api)?.status, "False", "it may pass");
  await until(() => losesRequests(api)?.status === "Unknown", "told");
});

test("switched off it lists nothing, writes no Event, and takes its condition away", async () => {
  await using all = await told(
    (api) => {
      shop(api);
      api.put(policies, "default", {
        metadata: { namespace: "shop", generation: 1 },
        spec: {},
        status: {
          conditions: [{ type: "LosesRequests", status: "True", reason: "AuditErrors", message: "1 of 1" }],
        },
      });
    },
    { isOn: false },
  );
  await until(
    () => conditions(all.api).some(({ type }) => type === "Accepted"),
    "the policy's other condition",
  );
  assert.equal(losesRequests(all.api), undefined);
  assert.deepEqual(all.api.items("events"), []);
  assert.ok(!all.api.asked.some(({ resource }) => resource === deployments));
});

test("it asks for nothing that it has no right to, and for all that it has", async () => {
  await using all = await told((api) => {
    shop(api);
    policy(api, "shop");
  });
  const { api } = all;
  await until(() => losesRequests(api) !== undefined && api.items("events").length > 0, "told");
  const granted = [...operatorRights.clusterRole, ...operatorRights.role, ...workloadAuditRights].flatMap(
    ({ apiGroups, resources, verbs }) =>
      verbs.flatMap((verb) =>
        resources.map((one) => `${verb} ${apiGroups[0] === "" ? one : `${apiGroups[0]}/${one}`}`),
      ),
  );
  const verbs: Readonly<Record<string, string>> = {
    GET: "list",
    POST: "create",
    PATCH: "patch",
    PUT: "update",
  };
  const used = new Set(
    api.asked
      .filter(({ resource }) => resource !== "")
      .map(({ method, resource, sub, watch, name }) => {
        const verb = watch ? "watch" : method === "GET" && name !== "" ? "get" : verbs[method];
        return `${verb} ${resource}${sub === "" ? "" : `/${sub}`}`;
      }),
  );
  assert.deepEqual(
    [...used].filter((one) => !granted.includes(one) && !/selfsubject/.test(one)),
    [],
  );
  const needed = workloadAuditRights.flatMap(({ apiGroups, resources }) =>
    resources.map((one) => (apiGroups[0] === "" ? one : `${apiGroups[0]}/${one}`)),
  );
  assert.deepEqual(
    needed.filter((one) => ![...used].some((right) => right.endsWith(` ${one}`))),
    [],
  );
});
