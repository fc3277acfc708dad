import assert from "node:assert/strict";
import { test } from "node:test";
import {
  learn,
  learnText,
  learntText,
  lessonText,
  measuredLesson,
  parseLearnt,
  priorHypotheses,
} from "@lameduck/drain";
import { Registry } from "@prometheus-io/client";
import type { Termination } from "../src/coordinator/termination.ts";
import { inject } from "../src/inject/inject.ts";
import { defaultSettings } from "../src/policy/settings.ts";
import { ClusterLessons, fewestLessons } from "../src/records/learning/cluster-lessons.ts";
import { LearntView } from "../src/records/learning/learnt-view.ts";
import { Records } from "../src/records/records.ts";
import { describeTermination } from "../src/records/report/describe.ts";
import { OperatorApi, until } from "./operator-api.ts";
import { consumer, deletedAt, released } from "./terminations.ts";

const reportOf = (termination: Termination): ReturnType<typeof describeTermination> =>
  describeTermination(termination, {
    isWhole: true,
    origin: deletedAt,
    began: deletedAt,
    closingAt: deletedAt + 6_000,
  });

const appliedAfter = (...times: readonly (number | undefined)[]): Termination =>
  released({
    consumers: new Map(
      times.map((after, at) => [
        `kube-proxy/node${at}`,
        consumer(after === undefined ? {} : { appliedAt: deletedAt + after }),
      ]),
    ),
  });

const textOf = (...senders: readonly { at: number; hasLetGo: boolean }[]): string =>
  lessonText(measuredLesson(senders, 4_000));

test("a minute teaches by the termination of a namespace whose consumers took longest", () => {
  const lessons = new ClusterLessons();
  lessons.add(reportOf(appliedAfter(500, 700)), 0);
  lessons.add(reportOf(appliedAfter(600, 2_000)), 30_000);
  lessons.add(reportOf(appliedAfter(400)), 31_000);
  assert.equal(lessons.take(59_999), undefined);
  assert.equal(lessons.take(60_000), textOf({ at: 2_000, hasLetGo: true }, { at: 600, hasLetGo: true }));
  assert.equal(lessons.take(200_000), undefined, "once");
});

test("a consumer that was behind had not let go until the pod closed; one that never reports, and time, say nothing", () => {
  const lessons = new ClusterLessons();
  const odd = new Map([
    ["kube-proxy/missing", consumer({ isMissing: true })],
    ["dns/cluster", consumer({ basis: "time", appliedAt: deletedAt + 5_000 })],
  ]);
  lessons.add(reportOf(released({ consumers: odd })), 0);
  assert.equal(lessons.take(100_000), undefined);
  lessons.add(
    reportOf(released({ consumers: new Map([...appliedAfter(400, undefined).consumers, ...odd]) })),
    0,
  );
  assert.equal(lessons.take(60_000), textOf({ at: 6_000, hasLetGo: false }, { at: 400, hasLetGo: true }));
});

test("one namespace among several does not set the lesson of a minute", () => {
  const lessons = new ClusterLessons();
  const add = (namespace: string, ...times: readonly number[]): void =>
    lessons.add(reportOf({ ...appliedAfter(...times), namespace }), 0);
  for (let count = 0; count < 20; count++) add("slow", 300_000);
  add("shop", 500);
  add("shop", 900);
  add("pay", 700);
  assert.equal(lessons.take(60_000), textOf({ at: 900, hasLetGo: true }));
  for (let count = 0; count < 20; count++) add("quick", 0);
  add("shop", 900);
  assert.equal(lessons.take(60_000), textOf({ at: 900, hasLetGo: true }), "of two the slower");
});

test("a node whose clock is ahead does not make the cluster look slower", () => {
  const lessons = new ClusterLessons();
  const exits = [{ container: "web", exitCode: 0, finishedAt: deletedAt + 3_600_000 }];
  const ended = { ...appliedAfter(undefined), exits, goneAt: deletedAt + 7_000 };
  const followed = { isWhole: true, origin: deletedAt, began: deletedAt };
  lessons.add(describeTermination(ended, followed), 0);
  assert.equal(lessons.take(60_000), textOf({ at: 7_000, hasLetGo: false }));
});

test("what the cluster has taught is written beside the operator, of measured terminations alone", async () => {
  await using api = await OperatorApi.start();
  const client = api.client();
  let now = deletedAt + 50;
  const problems: unknown[] = [];
  const records = new Records(client, {
    isLeader: () => true,
    name: "coordinator-1",
    namespace: "lameduck-system",
    registry: new Registry(),
    onProblem: (...problem) => problems.push(problem),
    now: () => now,
    every: 10,
  });
  records.start();
  const ended = (termination: Termination): void => {
    records.began(termination);
    records.ended(termination);
  };
  ended(released({ uid: "a", name: "a", isMeasured: false }));
  const consumers = Object.assign(new Map(released().consumers), { quicker: 50 });
  ended(released({ uid: "b", name: "b", consumers }));
  await until(() => api.items("lameduck.dev/drainreports").length === 2, "both records");
  const entry = (): string | undefined =>
    (api.get("configmaps", "lameduck-learnt")?.["data"] as Record<string, string> | undefined)?.["cluster"];
  await until(() => {
    now += 1_000;
    return entry() !== undefined;
  }, "what was learnt");
  assert.equal(api.get("configmaps", "lameduck-learnt")?.metadata["namespace"], "lameduck-system");
  const senders = [5_050, 2_950, 1_950, 1_050, 950].map((at) => ({ at, hasLetGo: true }));
  const lesson = learnText(undefined, lessonText(measuredLesson(senders, 4_000, 50)));
  assert.equal(entry()?.split(" ")[1], lesson && learntText(lesson));
  assert.deepEqual(problems, []);
  await records.stop();
  client.close();
});

function learntOf(terminations: number, at = 500): string {
  const lesson = measuredLesson(
    Array.from({ length: 5 }, () => ({ at, hasLetGo: true })),
    4_000,
  );
  let learnt = learn(undefined, lesson);
  for (let count = 1; count < terminations; count++) learnt = learn(learnt, lesson);
  return `2026-11-26 ${learntText(learnt)}`;
}

const pod = {
  metadata: { ownerReferences: [{ kind: "StatefulSet", name: "db", uid: "u", controller: true }] },
  spec: { containers: [{ name: "db", image: "db:1", ports: [{ containerPort: 80 }] }] },
};

test("a pod whose workload has taught nothing begins with what the cluster has, once that is enough", async () => {
  await using api = await OperatorApi.start();
  const client = api.client();
  const view = new LearntView(client, "lameduck-system", () => assert.fail());
  view.start();
  const put = (terminations: number): void => {
    const metadata = { namespace: "lameduck-system" };
    const data = { cluster: learntOf(terminations) };
    if (api.get("configmaps", "lameduck-learnt")) api.change("configmaps", "lameduck-learnt", { data });
    else api.put("configmaps", "lameduck-learnt", { metadata, data });
  };
  put(fewestLessons);
  await until(() => view.of("shop", pod) !== undefined, "what was learnt");
  assert.equal(parseLearnt(view.of("shop", pod))?.terminations, fewestLessons);
  put(fewestLessons - 1);
  await until(() => view.of("shop", pod) === undefined, "too few lessons");
  await view.stop();
  client.close();
});

test("whatever consumers have reported, every possibility keeps three quarters of its default weight", async () => {
  for (const at of [0, 300, 25_000]) {
    await using api = await OperatorApi.start();
    const client = api.client();
    const view = new LearntView(client, "lameduck-system", () => assert.fail());
    view.start();
    const metadata = { namespace: "lameduck-system" };
    api.put("configmaps", "lameduck-learnt", { metadata, data: { cluster: learntOf(50, at) } });
    await until(() => view.of("shop", pod) !== undefined, "what was learnt");
    const weights = parseLearnt(view.of("shop", pod))?.weights ?? [];
    await view.stop();
    client.close();
    for (const [index, { weight }] of priorHypotheses().entries())
      assert.ok(
        (weights.at(index) ?? 0) > 0.749 * weight,
        `${index} after ${at} ms: ${weights.at(index)} of ${weight}`,
      );
    assert.ok(Math.abs(weights.reduce((sum, weight) => sum + weight, 0) - 1) < 1e-3);
  }
});

test("a container that says how fast its senders are is told nothing else", () => {
  const facts = {
    lameduckVersion: "0.1.0",
    exposedBy: ["Service db"],
    version: { major: 1, minor: 36 },
    convergenceSeconds: undefined,
    architectures: undefined,
    learnt: learntOf(20),
  };
  const [container] = pod.spec.containers;
  const env = [{ name: "LAMEDUCK_CONVERGENCE", value: "1s" }];
  const own = { ...pod, spec: { containers: [{ ...container, env }] } };
  assert.match(JSON.stringify(inject(pod, defaultSettings, facts).patch), /LAMEDUCK_LEARNT/);
  assert.doesNotMatch(JSON.stringify(inject(own, defaultSettings, facts).patch), /LAMEDUCK_LEARNT/);
});
