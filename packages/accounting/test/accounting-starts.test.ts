import assert from "node:assert/strict";
import { test } from "node:test";
import { account, buildResults, comparisonText, mergeRuns, type RequestRecord } from "../src/index.ts";
import { resultsSchema } from "../src/model/results.ts";
import { meta } from "./accounting-causes.ts";
import { ordinary, podLife, recording, refused, request, traffic } from "./accounting-recording.ts";

const unnamed = (record: RequestRecord): RequestRecord => {
  const { pod: _, podKnownBy: __, ...rest } = record;
  return rest;
};

const by = (sender: string, pod?: string): object => ({ sender, pod });

/** web-2 and web-3 become Ready at 9.5 s; web-4 waits for a gate. Route `service` names its pods, `edge` does not, `ingress` reaches web-2 alone. */
const rolled = recording({
  podEvents: [
    ...podLife("web-1", ordinary),
    ...podLife("web-2", { created: 8_000, ready: 9_500 }),
    ...podLife("web-3", { created: 8_000, ready: 9_500 }),
    ...podLife("web-4", { created: 8_000 }),
  ],
  senderEvents: [],
  records: [
    ...traffic(2_000, 9_900, by("service", "web-1")),
    request(9_700, by("service", "web-2")),
    request(9_000, by("service", "web-3")),
    ...traffic(2_000, 9_900, by("ingress", "web-1")),
    refused(9_600, { sender: "ingress", pod: "web-2" }),
    request(11_498, by("ingress", "web-2")),
    ...traffic(2_000, 9_900, { sender: "edge" }).map(unnamed),
  ],
  waiting: new Map([["web-4", "its containers are ready, and readiness gate example.com/lb has not passed"]]),
});

test("for each route it is known how long new pods took from Ready to the first answer, and what was lost to them", () => {
  const result = account(rolled, meta);
  assert.deepEqual(
    result.newPods?.map(({ pod, readyAt, firstAnswer }) => ({ pod, readyAt, ...firstAnswer })),
    [
      { pod: "web-2", readyAt: 9_500, service: 202, ingress: 2_000, edge: "unknown" },
      // An answer from before it was Ready is no wait.
      { pod: "web-3", readyAt: 9_500, service: 0, ingress: "none", edge: "unknown" },
      { pod: "web-4", readyAt: undefined, service: "none", ingress: "none", edge: "unknown" },
    ],
  );
  assert.deepEqual(
    result.starts?.map(({ sender, pods, firstAnswer: { count, max }, none, unknown, lost }) => [
      sender,
      { pods, count, max, none, unknown, lost },
    ]),
    [
      ["service", { pods: 2, count: 2, max: 202, none: 0, unknown: 0, lost: 0 }],
      ["ingress", { pods: 2, count: 1, max: 2_000, none: 1, unknown: 0, lost: 1 }],
      ["edge", { pods: 2, count: 0, max: 0, none: 0, unknown: 2, lost: 0 }],
    ],
  );
  assert.equal(result.lostByCause.C7, 1);
});

test("the report says how new pods began, by route, and names pods that never became Ready", () => {
  const one = account(rolled, meta);
  const results = buildResults({
    tool: "rollout",
    version: "0",
    startedAt: new Date(0),
    seed: 1,
    settings: {},
    remedies: [one],
  });
  assert.doesNotThrow(() => resultsSchema.parse(JSON.parse(JSON.stringify(results))));
  const text = comparisonText(results, { width: 2_000 });
  assert.match(
    text,
    /^nothing: 2 new pods became Ready. From Ready to the first answer \(median, most\): service 0\.1, 0\.2 s; ingress 2\.0, 2\.0 s \(1 of 2 gave none\); edge unknown \(no answer there names its pod\)\. Lost to pods that were too new \(C7\): 1 by ingress\.$/m,
  );
  assert.match(
    text,
    /^nothing: web-4 was not Ready at the end: its containers are ready, and readiness gate example\.com\/lb has not passed\.$/m,
  );
  const [service] = one.starts ?? [];
  assert.ok(service);
  const many = { ...one, starts: Array.from({ length: 9 }, () => service) };
  assert.match(
    comparisonText({ ...results, remedies: [many] }, { width: 2_000 }),
    /\(median, most\): 9 senders 0\.1 to 0\.1, 0\.2 s \(service\)\. Lost to pods that were too new \(C7\): 0\.$/m,
  );
});

test("a run without a new pod says nothing of starts, and runs are merged with the pods of all", () => {
  const none = account(recording({ records: traffic(2_000, 9_900) }), meta);
  assert.deepEqual([none.newPods, none.starts], [[], []]);
  const one = account(rolled, meta);
  const merged = mergeRuns([one, none, one], 1);
  assert.equal(merged.newPods?.length, 6);
  assert.deepEqual(
    merged.starts?.map(({ pods, lost }) => [pods, lost]),
    [
      [4, 0],
      [4, 2],
      [4, 0],
    ],
  );
  assert.ok((merged.newPods?.[3]?.createdAt ?? 0) > (one.newPods?.[0]?.createdAt ?? 0), "moved in time");
});

test("a refused request whose pod is not known may have gone to a new pod, where Ready does not prove that the pod listens", () => {
  const lost = unnamed(refused(9_700, { sender: "ingress" }));
  const run = (more: object): (string | undefined)[] => {
    const { lostRequests } = account(
      recording({
        podEvents: [
          ...podLife("web-1", {
            ...ordinary,
            deleted: 9_600,
            signalled: 9_600,
            closed: 16_000,
            exited: 17_000,
          }),
          ...podLife("web-2", { created: 9_000, ready: 9_500 }),
        ],
        senderEvents: [],
        records: [
          ...traffic(2_000, 9_600, by("ingress", "web-1")),
          lost,
          request(9_900, by("ingress", "web-2")),
        ],
        ...more,
      }),
      meta,
    );
    return lostRequests.map(({ cause, pod }) => `${cause} ${pod}`);
  };
  assert.deepEqual(run({ readyProvesNothing: true }), ["C7 web-2"]);
  assert.deepEqual(run({}), ["unknown undefined"]);
  // web-1 had closed just before: it is the likelier one.
  const closing = podLife("web-1", {
    ...ordinary,
    deleted: 9_600,
    signalled: 9_600,
    closed: 9_650,
    exited: 17_000,
  });
  const both = [...closing, ...podLife("web-2", { created: 9_000, ready: 9_500 })];
  assert.deepEqual(run({ readyProvesNothing: true, podEvents: both }), ["C1 web-1"]);
  assert.deepEqual(
    run({ readyProvesNothing: true, records: [...traffic(2_000, 9_900).map(unnamed), lost] }),
    ["unknown undefined"],
  );
});
