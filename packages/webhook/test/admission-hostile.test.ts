import assert from "node:assert/strict";
import test, { describe, it } from "node:test";
import { answerReview, type ReviewHandler } from "../src/admission/review.ts";
import { injectingHandler } from "../src/admission/mutate.ts";
import { validate } from "../src/admission/validate.ts";

/** Half of the largest body: what grows faster than its body does so here, too. */
const size = 1.5 * 1024 * 1024;

const mutate = injectingHandler({
  cluster: {
    pathsTo: () => ({ exposedBy: ["Service web"], convergence: undefined }),
    labelsOf: () => ({ "lameduck.dev/inject": "enabled" }),
    policyOf: () => undefined,
    architectures: ["amd64"],
  },
  namespace: "lameduck-system",
  lameduckVersion: "0.1.0",
  version: () => ({ major: 1, minor: 36 }),
  coordinator: "http://lameduck-coordinator.lameduck-system.svc:8070",
});

function review(kind: string, object: object, oldObject: object | null = null): string {
  const group = { Pod: "", DrainPolicy: "lameduck.dev" }[kind] ?? "apps";
  const request = {
    uid: "uid-1",
    kind: { group, version: "v1", kind },
    operation: oldObject ? "UPDATE" : "CREATE",
    namespace: "shop",
    object,
    oldObject,
  };
  return JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request });
}

/** As many as fit into the body. */
function filled<T>(each: (index: number) => T): T[] {
  const all: T[] = [];
  for (let used = 0; used < size; used += JSON.stringify(all.at(-1)).length + 1) all.push(each(all.length));
  return all;
}
const named = (each: (index: number) => string, value: unknown = "1"): Record<string, unknown> =>
  Object.fromEntries(filled((index) => [each(index), value] as const));

const policy = (spec: object): object => ({
  apiVersion: "lameduck.dev/v1alpha1",
  kind: "DrainPolicy",
  metadata: { name: "default", namespace: "shop" },
  spec,
});
const deployment = (annotations: object): object => ({
  metadata: { name: "web" },
  spec: { template: { metadata: { annotations } } },
});
const pod = (spec: object, metadata: object = {}): object => ({
  metadata: { labels: { app: "web" }, ...metadata },
  spec,
});
const container = { name: "web", image: "node", command: ["node"] };
const instrumented = { annotations: { "lameduck.dev/instrument-node": "true" } };
const long = "x".repeat(size);

const policies = {
  "many fields": policy(named((index) => `f${index}`)),
  "many names like a field": policy(named((index) => `capSeconds${index}`)),
  "one long field": policy({ [long]: 1 }),
  "a long value": policy({ initVolume: long, initImage: long, acknowledgements: { mode: long } }),
  "many fields of acknowledgements": policy({ acknowledgements: named((index) => `mode${index}`) }),
  "a long name": { ...policy({}), metadata: { name: long } },
  "a long version": { ...policy({}), apiVersion: long, kind: long },
};
const workloads = {
  "many annotations": deployment(named((index) => `lameduck.dev/a${index}`)),
  "many names like an annotation": deployment(named((index) => `lameduck.dev/cap${index}`)),
  "one long annotation": deployment({ [`lameduck.dev/${long}`]: "1" }),
  "a long value of an annotation": deployment({ "lameduck.dev/cap": long, "lameduck.dev/init-volume": long }),
  "a long name of a workload": { ...deployment({ "lameduck.dev/cap": "1" }), metadata: { name: long } },
};
const pods = {
  "20,000 containers": pod({ containers: Array.from({ length: 20_000 }, () => container) }),
  "empty containers": pod({ containers: filled(() => ({})) }),
  "many native sidecars": pod({
    containers: [container],
    initContainers: filled(() => ({ name: "a", restartPolicy: "Always" })),
  }),
  "a long name of a container": pod({ containers: [{ ...container, name: long }] }),
  "a long image": pod({ containers: [{ ...container, command: [], image: long }] }),
  "an image of slashes": pod({ containers: [{ ...container, command: [], image: "a/".repeat(size / 2) }] }),
  "an image of colons": pod({ containers: [{ ...container, command: [], image: "a:".repeat(size / 2) }] }),
  "a command of slashes": pod({ containers: [{ ...container, command: ["/".repeat(size)] }] }),
  "a long NODE_OPTIONS": pod(
    { containers: [{ ...container, env: [{ name: "NODE_OPTIONS", value: long }] }] },
    instrumented,
  ),
  "long NODE_OPTIONS of many containers": pod(
    {
      containers: Array.from({ length: 100 }, () => ({
        ...container,
        env: [{ name: "NODE_OPTIONS", value: "x".repeat(size / 100) }],
      })),
    },
    instrumented,
  ),
  "many variables": pod({ containers: [{ ...container, env: filled((index) => ({ name: `V${index}` })) }] }),
  "many volumes": pod({ containers: [container], volumes: filled((index) => ({ name: `v${index}` })) }),
  "many mounts": pod({
    containers: [{ ...container, volumeMounts: filled((index) => ({ mountPath: `/${index}` })) }],
  }),
  "many ports": pod({ containers: [{ ...container, ports: filled(() => ({ name: "metrics" })) }] }),
  "many words": pod({ containers: [{ ...container, args: filled(() => "lameduck-registe") }] }),
  "many annotations of a pod": pod(
    { containers: [container] },
    { annotations: named((index) => `lameduck.dev/a${index}`) },
  ),
  "wrong annotations of a pod": pod(
    { containers: [container] },
    { annotations: { "lameduck.dev/cap": long, "lameduck.dev/init-volume": "\u0001".repeat(size / 6) } },
  ),
  "many labels": pod({ containers: [container] }, { labels: named((index) => `l${index}`) }),
  "many owners": pod({ containers: [container] }, { ownerReferences: filled(() => ({ kind: "Jobs" })) }),
};
/** More than are read. */
const deep = 300_000;
const nothings: Record<string, string> = {
  "deep lists": `${"[".repeat(deep)}${"]".repeat(deep)}`,
  "deep objects": `${'{"a":'.repeat(deep)}1${"}".repeat(deep)}`,
  "a deep object in a review": review("Pod", {}).replace(
    '"object":{}',
    `"object":${'{"spec":'.repeat(deep)}1${"}".repeat(deep)}`,
  ),
  "many empty lists": `[${"[],".repeat(deep)}[]]`,
  "a long uid": JSON.stringify({ request: { uid: long } }),
};

const bodies: Record<string, string> = { ...nothings };
for (const [kind, objects] of Object.entries({ DrainPolicy: policies, Deployment: workloads, Pod: pods }))
  for (const [what, object] of Object.entries(objects)) {
    bodies[what] = review(kind, object);
    if (kind !== "Pod") bodies[`${what}, before too`] = review(kind, object, object);
  }

/** Milliseconds of processor time. */
async function costOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** A pod as there are many, until it is as large as the others. */
const ordinary = review("Pod", {
  containers: filled((index) => ({
    ...container,
    env: [{ name: `V${index}`, value: "a" }],
    resources: { limits: { memory: "64Mi" } },
    terminationMessagePath: "/dev/termination-log",
  })),
});

/**
 * Other programs run meanwhile, so that each cost is that of its cheapest round.
 * @returns the milliseconds of processor time, where an answer takes more than three times as many as to parse.
 */
async function whyDear(body: string, judge: ReviewHandler): Promise<string | undefined> {
  const least = { ordinary: Infinity, parsed: Infinity, answered: Infinity };
  for (let round = 0; round < 6; round++) {
    least.ordinary = Math.min(least.ordinary, await costOf(() => JSON.parse(ordinary)));
    least.parsed = Math.min(least.parsed, await costOf(() => JSON.parse(body)));
    least.answered = Math.min(least.answered, await costOf(() => answerReview(body, judge, never)));
    if (round > 0 && least.answered < 3 * Math.max(least.ordinary, least.parsed)) return undefined;
  }
  return JSON.stringify(least);
}

const never = new AbortController().signal;

interface Whole {
  readonly response: {
    readonly warnings?: readonly string[];
    readonly status?: { readonly message: string };
  };
}

describe("a review costs little more than to read it, whatever it holds", () => {
  for (const [what, body] of Object.entries(bodies))
    it(`a review costs little more than to read its body: ${what}`, async () => {
      const faults: unknown[] = [];
      const judges: ReviewHandler[] = [mutate, validate];
      const answers = await Promise.all(
        judges.map((judge) => answerReview(body, judge, never, (one) => faults.push(one))),
      );
      assert.deepEqual(faults, []);
      for (const { body: answer } of answers) {
        const { warnings = [], status } = (JSON.parse(answer) as Whole).response;
        assert.ok(answer.length < 1_000_000, `an answer of ${answer.length} characters`);
        assert.ok((status?.message.length ?? 0) <= 4_096, `a message of ${status?.message.length}`);
        assert.ok(
          warnings.every((one) => one.length <= 256),
          "a long warning",
        );
        assert.ok(warnings.join("").length <= 4_096, "many warnings");
      }
      for (const judge of judges) assert.equal(await whyDear(body, judge), undefined);
    });
});

test("a review whose body is full of lists or objects is refused before it is parsed", async () => {
  for (const one of ["[],", "{},"]) {
    const { outcome, body } = await answerReview(`[${one.repeat(size)}1]`, mutate, never);
    assert.equal(outcome, "unreadable");
    assert.match(body, /the body has more than 200000 lists and objects/);
  }
});
