import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mock, test } from "node:test";
import { KubernetesClient } from "@lameduck/kube";
import type { PhaseLine as Phase } from "@lameduck/accounting/recording";
import { connectionTo } from "../../kube/test/api-server.ts";
import { readKnown, type Known } from "../src/why/read.ts";
import { clockOf, reasonsOf, type Reason } from "../src/why/reasons.ts";

// The clock stands, so that a slow machine makes nothing older than the test says. It stands between two whole seconds: the header Date has whole
// seconds, and the clock of the API server is taken to be in the middle.
mock.timers.enable({ apis: ["Date"], now: Math.floor(Date.now() / 1_000) * 1_000 + 500 });

type Fields = Readonly<Record<string, unknown>>;

/** What the API server has, by path; a number is the status of a refusal. What is not there is 404. */
type Objects = Readonly<Record<string, Fields | number | string>>;

const shop = "/api/v1/namespaces/shop";
const running = { running: {} };
const ended = { terminated: { exitCode: 0 } };

interface PodFields {
  readonly metadata?: Fields;
  readonly spec?: Fields;
  readonly container?: Fields;
  readonly state?: Fields;
  readonly status?: Fields;
  /** Seconds since the deletion, and the grace period. */
  readonly deleted?: readonly [ago: number, grace: number] | "no";
}

function podOf({ metadata, spec, container, state = running, status, deleted = [5, 30] }: PodFields): Fields {
  return {
    metadata: {
      name: "web-1",
      namespace: "shop",
      uid: "uid-1",
      labels: { app: "web" },
      ...(deleted === "no" ? {} : deletion(...deleted)),
      ...metadata,
    },
    spec: { nodeName: "node1", containers: [{ name: "app", ...container }], ...spec },
    status: {
      phase: "Running",
      containerStatuses: [
        { name: "app", containerID: `containerd://${"0123456789abcdef".repeat(4)}`, state },
      ],
      ...status,
    },
  };
}

const notDeleted = "no";

const deletion = (ago: number, grace: number): Fields => ({
  deletionTimestamp: new Date(Date.now() + (grace - ago) * 1_000).toISOString(),
  deletionGracePeriodSeconds: grace,
});
const readyNode = {
  metadata: { name: "node1", uid: "n" },
  status: { conditions: [{ type: "Ready", status: "True" }] },
};

async function knownOf(pod: Fields, more: Objects = {}): Promise<Known> {
  const objects: Objects = { "/api/v1/nodes/node1": readyNode, [`${shop}/events`]: { items: [] }, ...more };
  const all: Objects = { [`${shop}/pods/web-1`]: pod, ...objects };
  const server = createServer((request, response) => {
    response.setHeader("date", new Date().toUTCString());
    const found = all[(request.url ?? "").replace(/\?.*$/, "")];
    if (typeof found === "string") return void response.end(found);
    const status = typeof found === "number" ? found : found ? 200 : 404;
    response.writeHead(status, { "content-type": "application/json" });
    response.end(
      JSON.stringify(
        typeof found === "object" ? found : { reason: status === 403 ? "Forbidden" : "NotFound" },
      ),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = new KubernetesClient(
    connectionTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
  );
  try {
    return await readKnown(client, { namespace: "shop", name: "web-1" }, AbortSignal.timeout(20_000));
  } finally {
    client.close();
    server.close();
  }
}

async function first(fields: PodFields, more?: Objects): Promise<Reason | undefined> {
  return reasonsOf(await knownOf(podOf(fields), more))[0];
}

const budget = (name: string, allowed: number): Fields => ({
  metadata: { name, uid: name },
  spec: { selector: { matchLabels: { app: "web" } } },
  status: { disruptionsAllowed: allowed, currentHealthy: 2, desiredHealthy: 2 },
});
const budgets = (...items: readonly Fields[]): Objects => ({
  "/apis/policy/v1/namespaces/shop/poddisruptionbudgets": { items },
});
const event = (reason: string, message: string): Objects => ({
  [`${shop}/events`]: {
    items: [{ metadata: { name: "e", uid: "e" }, reason, message, lastTimestamp: new Date().toISOString() }],
  },
});
const hookFailedIn = (path: string): Objects => ({
  [`${shop}/events`]: {
    items: [
      {
        metadata: { name: "e", uid: "e" },
        involvedObject: { fieldPath: path },
        reason: "FailedPreStopHook",
        lastTimestamp: new Date().toISOString(),
      },
    ],
  },
});
const logOf = (...phases: readonly string[]): Objects => ({
  [`${shop}/pods/web-1/log`]: phases
    .map(
      (phase) => `${JSON.stringify({ lameduck: "phase", phase, at: Date.now() - 3_000, reason: "quiet" })}\n`,
    )
    .join("served /\n"),
});
const cordoned = { "/api/v1/nodes/node1": { ...readyNode, spec: { unschedulable: true } } };
const silent = {
  "/api/v1/nodes/node1": {
    ...readyNode,
    status: {
      conditions: [{ type: "Ready", status: "Unknown", lastTransitionTime: new Date().toISOString() }],
    },
  },
};
const sidecar = { name: "proxy", restartPolicy: "Always" };
const hook = (preStop: Fields): Fields => ({ lifecycle: { preStop } });
const ofDeployment = {
  labels: { app: "web", "pod-template-hash": "a1" },
  ownerReferences: [{ kind: "ReplicaSet", name: "web-a1", uid: "rs-a1", controller: true }],
};
const replicaSet = (hash: string, revision: string): Fields => ({
  metadata: {
    name: `web-${hash}`,
    uid: `rs-${hash}`,
    annotations: { "deployment.kubernetes.io/revision": revision },
    ownerReferences: [{ kind: "Deployment", name: "web", uid: "d", controller: true }],
  },
});
const rollout = (spec: Fields = {}): Objects => ({
  "/apis/apps/v1/namespaces/shop/deployments/web": {
    metadata: { name: "web", uid: "d" },
    spec: { replicas: 3, ...spec },
    status: { updatedReplicas: 1, readyReplicas: 3 },
  },
  "/apis/apps/v1/namespaces/shop/replicasets": { items: [replicaSet("b2", "2"), replicaSet("a1", "1")] },
});

const ofStatefulSet = {
  name: "db-1",
  labels: { app: "web", "controller-revision-hash": "db-1a" },
  ownerReferences: [{ kind: "StatefulSet", name: "db", uid: "s", controller: true }],
};
const statefulSet = (updateStrategy: Fields, status: Fields = { updateRevision: "db-2b" }): Objects => ({
  "/apis/apps/v1/namespaces/shop/statefulsets/db": {
    metadata: { name: "db", uid: "s" },
    spec: { replicas: 3, updateStrategy },
    status,
  },
});

const cases: readonly (readonly [
  what: string,
  pod: PodFields,
  more: Objects,
  cause: string,
  words: RegExp,
])[] = [
  [
    "a hook that hangs",
    { container: hook({ exec: { command: ["/bin/wait-for-queue"] } }) },
    {},
    "hook",
    /the preStop hook of app \(\/bin\/wait-for-queue\) has not ended/,
  ],
  [
    "a hook that sleeps",
    { container: hook({ exec: { command: ["sh", "-c", "sleep 15"] } }) },
    {},
    "hook",
    /sleeps: 10 s more/,
  ],
  [
    "the program after a hook that sleeps has failed",
    { container: hook({ exec: { command: ["sh", "-c", "sleep 15"] } }) },
    hookFailedIn("spec.containers{app}"),
    "program",
    /the program of app has been told to stop/,
  ],
  [
    "a hook that sleeps beside one that has failed",
    { container: hook({ exec: { command: ["sh", "-c", "sleep 15"] } }) },
    hookFailedIn("spec.initContainers{proxy}"),
    "hook",
    /sleeps: 10 s more/,
  ],
  [
    "the sleep of a hook is over",
    { container: hook({ sleep: { seconds: 2 } }) },
    {},
    "program",
    /the program of app has been told to stop/,
  ],
  [
    "a program under a shell",
    { container: { command: ["/bin/sh", "-c", "node server.js"] } },
    {},
    "program",
    /a shell passes no SIGTERM on/,
  ],
  ["a hold by the pod's own evidence", {}, logOf("lame-duck"), "own-hold", /Lameduck holds it, for 3 s/],
  [
    "a hold that is over",
    {},
    logOf("lame-duck", "closing"),
    "program",
    /finishes requests and its own shutdown/,
  ],
  [
    "a grace period that is over",
    { deleted: [90, 30] },
    event("FailedKillPod", "rpc error: DeadlineExceeded"),
    "overdue",
    /over 60 s ago.*DeadlineExceeded/,
  ],
  [
    "a finalizer",
    { state: ended, metadata: { finalizers: ["example.com/backup"] } },
    {},
    "finalizer",
    /waits for finalizers: example\.com\/backup/,
  ],
  [
    "a volume that is not unmounted",
    { state: ended, spec: { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }] } },
    event("FailedUnMount", "device is busy"),
    "kubelet",
    /cannot take its volumes \(data\) and its network down: device is busy/,
  ],
  [
    "an image that is gone",
    { state: { waiting: { reason: "ImagePullBackOff" } } },
    {},
    "not-started",
    /app has never run \(ImagePullBackOff\)/,
  ],
  [
    "a kubelet that has reported no container yet",
    { status: { phase: "Pending", containerStatuses: [] } },
    {},
    "not-started",
    /has reported none of its containers yet/,
  ],
  [
    "a sidecar that goes on",
    {
      spec: { initContainers: [sidecar] },
      state: ended,
      status: {
        initContainerStatuses: [{ name: "proxy", state: running }],
        containerStatuses: [{ name: "app", state: ended }],
      },
    },
    {},
    "sidecar",
    /the sidecar proxy stops after them/,
  ],
  [
    "a node that is gone",
    {},
    { "/api/v1/nodes/node1": 404 },
    "node-gone",
    /node1 is no object of the cluster any more/,
  ],
  ["a node that is silent", {}, silent, "node-silent", /node1 has not reported for \d s/],
  [
    "a held deletion",
    { deleted: notDeleted, metadata: { labels: { app: "web", "lameduck.dev/held": "true" } } },
    {},
    "held-deletion",
    /its deletion waits before it begins/,
  ],
  [
    "nothing of a budget where the pod is pending",
    { deleted: notDeleted, status: { phase: "Pending" }, metadata: { ownerReferences: [] } },
    { ...budgets(budget("web", 0)), ...cordoned },
    "not-deleted",
    /a drain refuses it/,
  ],
  [
    "a budget that allows nothing",
    { deleted: notDeleted },
    { ...budgets(budget("web", 0)), ...cordoned },
    "budget",
    /refused by PodDisruptionBudget web: 2 healthy, 2 wanted/,
  ],
  [
    "two budgets",
    { deleted: notDeleted },
    budgets(budget("web", 1), budget("all", 1)),
    "budget",
    /refuses every eviction/,
  ],
  [
    "a pod of nobody on a node that is drained",
    { deleted: notDeleted },
    cordoned,
    "not-deleted",
    /a drain refuses it/,
  ],
  [
    "a rollout that waits for new pods",
    { deleted: notDeleted, metadata: ofDeployment },
    rollout(),
    "rollout",
    /older template of deployment\/web.*1 of 3 pods new/,
  ],
  [
    "a rollout that is paused",
    { deleted: notDeleted, metadata: ofDeployment },
    rollout({ paused: true }),
    "rollout",
    /its rollout is paused/,
  ],
  [
    "a StatefulSet that replaces pods only when they are deleted",
    { deleted: notDeleted, metadata: ofStatefulSet },
    statefulSet({ type: "OnDelete" }),
    "rollout",
    /OnDelete: a pod stays old until somebody deletes it/,
  ],
  [
    "a partition that a pod is below",
    { deleted: notDeleted, metadata: ofStatefulSet },
    statefulSet({ type: "RollingUpdate", rollingUpdate: { partition: 2 } }),
    "rollout",
    /its partition is 2: pods with a lower number stay old/,
  ],
  [
    "a pod from the partition on, which is rolled",
    { deleted: notDeleted, metadata: ofStatefulSet },
    statefulSet({ type: "RollingUpdate", rollingUpdate: { partition: 1 } }),
    "rollout",
    /old pods stay until new pods are ready/,
  ],
  [
    "a pod that has ended",
    { deleted: notDeleted, state: ended, status: { phase: "Succeeded" } },
    {},
    "ended",
    /its object stays until somebody deletes it/,
  ],
];

for (const [what, pod, more, cause, words] of cases)
  test(`why names ${what}`, async () => {
    const reason = await first(pod, more);
    assert.equal(reason?.cause, cause);
    assert.match(reason?.text ?? "", words);
  });

test("why says of a rollout that gets on that nobody must act, and of one that waits for somebody that somebody must", async () => {
  const untilOf = async (metadata: Fields, more: Objects): Promise<number | null | undefined> =>
    (await first({ deleted: notDeleted, metadata }, more))?.until;
  const untilSet = (...of: Parameters<typeof statefulSet>): ReturnType<typeof untilOf> =>
    untilOf(ofStatefulSet, statefulSet(...of));
  assert.equal(await untilOf(ofDeployment, rollout()), undefined);
  assert.equal(await untilOf(ofDeployment, rollout({ paused: true })), null);
  assert.equal(await untilSet({ type: "OnDelete" }), null);
  assert.equal(await untilSet({ rollingUpdate: { partition: 2 } }), null);
  assert.equal(await untilSet({ rollingUpdate: { partition: 1 } }), undefined);
});

test("why gives no reason for a pod of a finished rollout, nor for one whose controller has said nothing yet", async () => {
  for (const status of [{ updateRevision: "db-1a" }, {}])
    assert.equal(
      await first(
        { deleted: notDeleted, metadata: ofStatefulSet },
        statefulSet({ type: "OnDelete" }, status),
      ),
      undefined,
    );
});

test("why says at what time a grace period ends, and what ends it sooner", async () => {
  const { pod, now } = await knownOf(podOf({}));
  const [reason] = reasonsOf({
    pod,
    now,
    node: undefined,
    events: [],
    budgets: [],
    workload: undefined,
    coordinator: undefined,
    phases: [],
    notRead: [],
  });
  assert.ok(Math.abs((reason?.until ?? 0) - now - 25_000) < 2_000);
  assert.match(reason?.ways[0]?.command ?? "", /^kubectl delete pod web-1 -n shop --grace-period=0 --force$/);
});

test("why takes a refusal for no evidence, and says what it may not read", async () => {
  const known = await knownOf(podOf({}), {
    "/api/v1/nodes/node1": 403,
    [`${shop}/events`]: 403,
    [`${shop}/pods/web-1/log`]: 403,
  });
  assert.deepEqual([...known.notRead].sort(), [
    "events: not permitted",
    "node node1: not permitted",
    "the log of app: not permitted",
  ]);
  assert.equal(reasonsOf(known)[0]?.cause, "program");
});

test("why looks at the phases of all containers, wherever the one that holds stands", async () => {
  const known = await knownOf(podOf({}));
  const at = (phase: Phase["phase"]): Phase => ({ phase, at: known.now - 3_000 }) as Phase;
  const causeWith = (...phases: readonly Phase["phase"][]): string | undefined =>
    reasonsOf({
      ...known,
      phases: phases.map((phase, index) => ({ container: `c${index}`, phase: at(phase) })),
    })[0]?.cause;
  assert.equal(causeWith("lame-duck", "closing"), "own-hold");
  assert.equal(causeWith("closing", "lame-duck"), "own-hold");
  assert.equal(causeWith("closing", "closed"), "program");
});

test("why has nothing to say of a pod that nobody deletes", async () => {
  assert.deepEqual(await first({ deleted: notDeleted }), undefined);
});

test("the end of a grace period has its date where that is not today's", () => {
  const at = (text: string): number => Date.parse(text);
  assert.equal(clockOf(at("2026-02-03T23:59:59Z"), at("2026-02-03T00:00:00Z")), "23:59:59 UTC");
  assert.equal(clockOf(at("2026-02-04T00:00:01Z"), at("2026-02-03T23:59:59Z")), "2026-02-04 00:00:01 UTC");
});
