import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubernetesClient, ServerClock, type Workload } from "@lameduck/kube";
import { inspect, restart, scale, type Target } from "../src/index.ts";
import { Completion, RolloutStuck } from "../src/completion.ts";
import { PodHistory } from "../src/following/pods.ts";
import { controllerProgress, replicaFailures } from "../src/progress.ts";
import type { TargetKind } from "../src/target-reference.ts";

function workload(spec: object, status: object, generation = 2): Workload {
  return {
    metadata: { name: "db", uid: "u", generation },
    spec: { replicas: 4, selector: {}, template: { spec: { containers: [{ name: "db" }] } }, ...spec },
    status: { observedGeneration: generation, replicas: 4, availableReplicas: 4, ...status },
  };
}

function targetOf(kind: TargetKind, object: Workload): Target {
  const reference = { kind, name: "db", namespace: "shop" };
  const { template, replicas = 1 } = object.spec;
  return {
    reference,
    owner: { reference, object },
    podQuery: {},
    podSpec: template.spec,
    podLabels: {},
    replicas,
    services: ["db"],
  };
}

const halfWay = { currentRevision: "db-1", updateRevision: "db-2", updatedReplicas: 2, readyReplicas: 4 };
const partition = (of: number): object => ({
  updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: of } },
});

test("a StatefulSet with a partition counts as rolled once every pod above the partition is new", () => {
  const at = (spec: object, status: object = halfWay) =>
    controllerProgress("statefulset", workload(spec, status), 2);
  assert.deepEqual(at(partition(2)), { done: true, words: "2 of 2 pods updated, 4 available" });
  assert.equal(at(partition(1)).done, false);
  assert.equal(at(partition(0)).done, false);
  assert.equal(at(partition(9), { ...halfWay, updatedReplicas: 0 }).done, true);
});

test("pods that a controller does not update by itself are not waited for", () => {
  const onDelete = workload({ updateStrategy: { type: "OnDelete" } }, halfWay);
  assert.equal(controllerProgress("statefulset", onDelete, 2).done, true);
  const paused = workload({ paused: true }, { updatedReplicas: 1 });
  assert.deepEqual(controllerProgress("deployment", paused, 2), {
    done: true,
    words: "1 of 4 pods updated, 4 available, paused",
  });
});

test("a restart that would replace no pod is refused, and one that replaces only some says so", async () => {
  const reference = { kind: "statefulset", name: "db", namespace: "shop" } as const;
  const all = targetOf("statefulset", workload(partition(4), {}));
  assert.match(
    restart(reference).obstacle(all) ?? "",
    /partition is 4, and it has 4 pods: a restart replaces none, use/,
  );
  const one = targetOf("statefulset", workload({ ...partition(1), replicas: 1 }, {}));
  assert.match(restart(reference).obstacle(one) ?? "", /it has 1 pod: a restart replaces none, use/);
  const some = targetOf("statefulset", workload(partition(3), {}));
  assert.equal(restart(reference).obstacle(some), undefined);
  const client = { list: () => Promise.resolve([]) } as unknown as KubernetesClient;
  const notes = await inspect(client, some, restart(reference));
  assert.ok(
    notes.includes("partition 3: of its 4 pods a restart replaces 1, the others stay"),
    notes.join("\n"),
  );
});

test("a user who scales what an autoscaler scales is told so", async () => {
  const scaleTargetRef = { kind: "StatefulSet", name: "db" };
  const items = [
    { metadata: { name: "mine" }, spec: { scaleTargetRef } },
    { metadata: { name: "other" }, spec: { scaleTargetRef: { ...scaleTargetRef, name: "web" } } },
  ];
  const client = { list: () => Promise.resolve(items) } as unknown as KubernetesClient;
  const target = targetOf("statefulset", workload({}, {}));
  const notes = await inspect(client, target, scale(target.reference, 6));
  assert.deepEqual(
    notes.filter((note) => note.includes("Autoscaler")),
    ["HorizontalPodAutoscaler mine scales it, too: it may change the number again"],
  );
});

/** As the controller of Argo Rollouts 1.9.1 has it. */
const canary = { strategy: { canary: { steps: [{}, { pause: {} }] } } };
const pausedAt = (startTime: string): object => ({
  updatedReplicas: 4,
  currentStepIndex: 1,
  currentPodHash: "7d",
  stableRS: "5f",
  pauseConditions: [{ reason: "CanaryPauseStep", startTime }],
});

test("an Argo Rollout with every pod new is not over before it is promoted, and says what it waits for", async () => {
  const at = (spec: object, status: object, before?: Workload) =>
    controllerProgress("rollout", workload(spec, status), 2, before);
  const paused = pausedAt("2026-01-01T00:10:00Z");
  assert.deepEqual(at(canary, paused), {
    done: false,
    words: "4 of 4 pods updated, 4 available, paused (CanaryPauseStep): it waits for a promotion",
  });
  assert.equal(at(canary, { ...paused, pauseConditions: null }).done, false);
  assert.equal(at(canary, { ...paused, pauseConditions: null, stableRS: "7d" }).done, true);
  const timed = { strategy: { canary: { steps: [{}, { pause: { duration: "1m" } }] } } };
  assert.match(at(timed, paused).words, /available, paused \(CanaryPauseStep\)$/);
  const twin = { ...paused, pauseConditions: [{ reason: "BlueGreenPause", startTime: "" }] };
  assert.match(at({ strategy: { blueGreen: {} } }, twin).words, /waits for a promotion$/);
  assert.match(at({ strategy: { blueGreen: { autoPromotionSeconds: 9 } } }, twin).words, /BlueGreenPause\)$/);
  const aborted = { ...paused, updatedReplicas: 0, abort: true, abortedAt: "2026-01-01T00:11:00Z" };
  assert.match(
    at(canary, aborted).words,
    /, aborted: it keeps its old version until it is retried or changed$/,
  );
  assert.equal(at(canary, aborted).done, false);
  // What was paused before the action is told before it, and is not waited for.
  const before = workload(canary, { ...paused, updatedReplicas: 1 });
  assert.equal(at(canary, { ...paused, updatedReplicas: 1 }, before).done, true);
  assert.equal(at(canary, paused, workload(canary, pausedAt("2026-01-01T00:00:00Z"))).done, false);
  const client = { list: () => Promise.resolve([]) } as unknown as KubernetesClient;
  const target = targetOf("rollout", before);
  const notes = await inspect(client, target, restart(target.reference));
  assert.ok(notes.includes("it is paused (CanaryPauseStep): it waits for a promotion"), notes.join("\n"));
});

const exceeded = (lastTransitionTime: string): object => ({
  conditions: [
    {
      type: "Progressing",
      status: "False",
      reason: "ProgressDeadlineExceeded",
      message: 'ReplicaSet "db-7d" has timed out progressing.',
      lastTransitionTime,
    },
    { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message: "exceeded quota: small" },
  ],
});

test("a rollout whose progress deadline is exceeded is given up at once, unless an earlier rollout exceeded it", async () => {
  const before = workload({}, exceeded("2026-01-01T00:00:00Z"));
  const observation = { pods: new PodHistory(new ServerClock()), workload: before };
  const completion = new Completion(targetOf("deployment", before), observation);
  const short = completion.until(() => false, AbortSignal.timeout(300));
  await assert.rejects(short, { name: "TimeoutError" });
  observation.workload = workload({}, exceeded("2026-01-01T00:10:00Z"), 3);
  const never = completion.until(() => false, AbortSignal.timeout(60_000));
  await assert.rejects(never, (error: unknown) => {
    assert.ok(error instanceof RolloutStuck, String(error));
    assert.match(error.message, /progress deadline exceeded: ReplicaSet "db-7d" has timed out progressing/);
    return true;
  });
  assert.deepEqual(replicaFailures(before), ["FailedCreate: exceeded quota: small"]);
});

test("a watched rollout begins with a new template, not with another number of replicas", async () => {
  const before = workload({}, {});
  const observation = { pods: new PodHistory(new ServerClock()), workload: before };
  const completion = new Completion(targetOf("deployment", before), observation);
  observation.workload = workload({ replicas: 6 }, {}, 3);
  await assert.rejects(completion.begun(AbortSignal.timeout(300)), { name: "TimeoutError" });
  observation.workload = workload({ template: { spec: { containers: [{ name: "other" }] } } }, {}, 4);
  await completion.begun(AbortSignal.timeout(60_000));
});
