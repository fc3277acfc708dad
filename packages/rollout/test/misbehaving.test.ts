import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { KubernetesError, type KubernetesErrorCode } from "@lameduck/kube";
import { drain, restart, rolloutNotes, type RolloutOutcome, rolloutResult } from "../src/index.ts";
import { FakeCluster } from "./fake-cluster.ts";
import type { Asked, Fault } from "../../kube/test/fake-api.ts";
import { FakeService, roll } from "./fake-rollout.ts";

/** Long enough for a machine that is busy, and far less than the bounds that would be missed: a hang is a hang. */
const bound = 120_000;
/** What is to finish has so long. */
const finishingMs = 50_000;
/** For an answer that comes, on a machine that is busy. */
const slowMs = 30_000;

const drainNode = (reference: Parameters<typeof drain>[0]) => drain(reference, "n1");

async function cluster(): Promise<FakeCluster> {
  const started = await FakeCluster.start();
  started.put("services", "web", { spec: { selector: { app: "web" } } });
  started.deployment("web");
  while (started.items("pods").length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  return started;
}

const isCordoned = (api: FakeCluster): boolean =>
  (api.get("nodes", "n1")!["spec"] as { unschedulable?: boolean }).unschedulable === true;

const html: Fault = { status: 200, body: "<html>Welcome</html>" };
const empty: Fault = { status: 200, body: "{}" };
const unauthorized: Fault = { status: 401, body: { reason: "Unauthorized", message: "Unauthorized" } };
const expired: Fault = { status: 410, body: { reason: "Expired", message: "too old resource version" } };

const isReview = ({ resource }: Asked): boolean => resource === "selfsubjectaccessreviews";

const before: [title: string, fault: FakeCluster["fault"], code: KubernetesErrorCode][] = [
  ["never answers", () => ({ stallAt: 0 }), "LAMEDUCK_API_UNREACHABLE"],
  ["stalls in the head", () => ({ stallAt: 20 }), "LAMEDUCK_API_UNREACHABLE"],
  [
    "stalls in the body",
    (asked) => (isReview(asked) ? undefined : { stallAt: 90 }),
    "LAMEDUCK_API_UNREACHABLE",
  ],
  ["cuts every connection", () => ({ cutAt: 0 }), "LAMEDUCK_API_UNREACHABLE"],
  ["cuts every answer", () => ({ cutAt: 90 }), "LAMEDUCK_API_UNREACHABLE"],
  ["is a web site", () => html, "LAMEDUCK_API_REFUSED"],
  ["answers nothing but {}", (asked) => (isReview(asked) ? undefined : empty), "LAMEDUCK_API_REFUSED"],
  [
    "knows the target, and no lists",
    ({ resource, name }) => (resource === "services" && name === "" ? empty : undefined),
    "LAMEDUCK_API_REFUSED",
  ],
  ["knows nobody", () => unauthorized, "LAMEDUCK_CREDENTIALS_FAILED"],
  [
    "has lost every list",
    ({ resource, name }) => (resource === "pods" && name === "" ? expired : undefined),
    "LAMEDUCK_API_REFUSED",
  ],
  [
    "has lists that do not end",
    ({ url }) =>
      url.searchParams.has("limit") ? { status: 200, body: { metadata: {}, items: [] } } : undefined,
    "LAMEDUCK_API_REFUSED",
  ],
];

void suite("an API server that misbehaves from the beginning: nothing is changed", { concurrency: 4 }, () => {
  for (const [title, fault, code] of before)
    test(
      `nothing is changed through an API server that from the beginning ${title}`,
      { timeout: bound },
      async () => {
        await using api = await cluster();
        api.fault = fault;
        // Only where no answer is awaited may one come too late.
        const answerTimeoutMs = code === "LAMEDUCK_API_UNREACHABLE" ? 2_000 : slowMs;
        await assert.rejects(roll(api, "deployment/web", drainNode, { answerTimeoutMs }), (error) => {
          assert.ok(error instanceof KubernetesError, String(error));
          assert.equal(error.code, code, error.message);
          return true;
        });
        assert.deepEqual(
          api.asked.filter(
            ({ method, resource }) => method !== "GET" && resource !== "selfsubjectaccessreviews",
          ),
          [],
        );
      },
    );
});

interface Row {
  readonly title: string;
  /** Called at each request from the first eviction on, with the milliseconds since. */
  readonly fault?: (asked: Asked, since: number) => Fault | undefined;
  readonly prepare?: (api: FakeCluster) => unknown;
  /** Every watch is forgotten while pods end. */
  readonly expires?: true;
  /** For an answer, where one does not come. */
  readonly answerTimeoutMs?: number;
  readonly kinds: readonly RolloutOutcome["kind"][];
  /** The cordon stays, and its command is said. */
  readonly stays?: true;
  readonly code?: KubernetesErrorCode;
}

const isWrite = ({ method }: Asked): boolean => method !== "GET";
const for1s = (fault: Fault) => (_: Asked, since: number) => (since < 1_000 ? fault : undefined);
/** Each test with it lasts for as long. */
const silentMs = 6_000;
const rows: Row[] = [
  { title: "behaves", kinds: ["finished"] },
  {
    title: "never answers again",
    fault: () => ({ stallAt: 0 }),
    answerTimeoutMs: silentMs,
    kinds: ["not finished"],
    stays: true,
  },
  {
    title: "cuts every connection from then on",
    fault: () => ({ cutAt: 0 }),
    kinds: ["not finished"],
    stays: true,
  },
  {
    title: "answers nothing for a second",
    fault: for1s({ stallAt: 0 }),
    answerTimeoutMs: silentMs,
    kinds: ["finished"],
  },
  {
    title: "stalls in the body for a second",
    fault: for1s({ stallAt: 80 }),
    answerTimeoutMs: silentMs,
    kinds: ["finished"],
  },
  { title: "cuts everything for a second", fault: for1s({ cutAt: 0 }), kinds: ["finished"] },
  {
    title: "is overloaded for a second",
    fault: for1s({ status: 503, body: "" }),
    kinds: ["finished"],
  },
  { title: "knows nobody for a second", fault: for1s(unauthorized), kinds: ["finished"] },
  { title: "knows nobody any more", fault: () => unauthorized, kinds: ["not finished"], stays: true },
  {
    title: "is away for a second when the node is to be uncordoned",
    prepare: (api) => {
      let from: number | undefined;
      api.fault = ({ method, resource }) => {
        if (method !== "PATCH" || resource !== "nodes" || !isCordoned(api)) return undefined;
        from ??= Date.now();
        return Date.now() - from < 1_000 ? { cutAt: 0 } : undefined;
      };
    },
    kinds: ["finished"],
  },
  {
    title: "says yes and is a web site",
    fault: (asked) => (asked.sub === "eviction" ? html : undefined),
    kinds: ["failed"],
    code: "LAMEDUCK_API_REFUSED",
  },
  {
    title: "says yes and evicts nothing",
    fault: ({ sub }) =>
      sub === "eviction" ? { status: 200, body: { kind: "Status", status: "Success" } } : undefined,
    kinds: ["not finished"],
  },
  {
    title: "says yes with a failure in it",
    fault: ({ sub }) =>
      sub === "eviction"
        ? { status: 200, body: { kind: "Status", status: "Failure", code: 422 } }
        : undefined,
    kinds: ["failed"],
    code: "LAMEDUCK_API_REFUSED",
  },
  {
    title: "forgets every watch at once",
    fault: ({ watch }) => (watch ? expired : undefined),
    expires: true,
    kinds: ["finished"],
  },
  {
    title: "forgets every watch and every list",
    fault: (asked) => (isWrite(asked) ? undefined : expired),
    expires: true,
    kinds: ["not finished", "failed"],
  },
  {
    title: "closes every watch as soon as it is open",
    prepare: (api) => (api.fault = ({ watch }) => (watch ? { cutAt: 1 } : undefined)),
    kinds: ["finished"],
  },
  {
    title: "opens watches and tells nothing",
    prepare: (api) => (api.fault = ({ watch }) => (watch ? { stallAt: 1 } : undefined)),
    kinds: ["not finished"],
  },
  {
    title: "tells nonsense in watches",
    prepare: (api) =>
      (api.fault = ({ watch }) =>
        watch ? { status: 200, body: '{"type":"ADDED","object":{}}\n%\n' } : undefined),
    kinds: ["finished"],
  },
  {
    title: "is slow to tell",
    prepare: (api) => (api.watchDelay = 700),
    kinds: ["finished"],
  },
  { title: "has a clock 5 min ahead", prepare: (api) => (api.clockAhead = 300_000), kinds: ["finished"] },
  { title: "has a clock 5 min behind", prepare: (api) => (api.clockAhead = -300_000), kinds: ["finished"] },
];

void suite(
  "an API server that misbehaves in the middle: a named outcome, results, and nothing left changed",
  { concurrency: 8 },
  () => {
    for (const { title, fault, prepare, expires, answerTimeoutMs = slowMs, kinds, stays, code } of rows)
      test(
        `the outcome is named and nothing is left changed when an API server in the middle ${title}`,
        { timeout: bound },
        async () => {
          await using api = await cluster();
          await using service = await FakeService.start(api);
          let from: number | undefined;
          if (expires) api.termination = 2_000;
          if (fault)
            api.fault = (asked) => {
              if (asked.sub === "eviction" && from === undefined) {
                from = Date.now();
                if (expires) setTimeout(() => api.expire(), 500);
              }
              return from === undefined ? undefined : fault(asked, Date.now() - from);
            };
          const { run } = await roll(api, "deployment/web", drainNode, {
            load: service.load(),
            timeoutMs: kinds.includes("finished") ? finishingMs : 5_000,
            answerTimeoutMs,
            undoingMs: stays ? 1_000 : 20_000,
            agreed: () => prepare?.(api),
          });
          const { outcome, left } = run;
          assert.ok(kinds.includes(outcome.kind), JSON.stringify(outcome));
          if (outcome.kind === "failed") {
            assert.ok(outcome.error instanceof KubernetesError, String(outcome.error));
            if (code) assert.equal(outcome.error.code, code);
          }
          assert.equal(isCordoned(api), stays ?? false);
          assert.equal(left?.code, stays && "LAMEDUCK_NOT_TAKEN_BACK");
          if (left) assert.match(left.message, /^kubectl uncordon n1: has to be run by hand/);
          assert.ok(run.recording.records.length > 50, "what was sent is kept");
          const result = rolloutResult(run, {
            action: drainNode({ kind: "deployment", name: "web", namespace: "shop" }),
            seed: 1,
          });
          assert.ok(rolloutNotes(run).length > 0);
          if (outcome.kind !== "finished") return;
          assert.equal(result.terminations, 2);
          assert.equal(result.untested, 0, JSON.stringify(result.each));
          for (const { total, deletedAt } of result.each) {
            assert.ok(total < finishingMs, `${total} ms`);
            assert.ok(deletedAt > 0 && deletedAt < finishingMs + 10_000, `${deletedAt} ms`);
          }
        },
      );
  },
);

test(
  "a rollout that is interrupted in the middle keeps its requests, and takes the cordon back",
  { timeout: bound },
  async () => {
    await using api = await cluster();
    await using service = await FakeService.start(api);
    api.termination = 60_000;
    const interrupt = new AbortController();
    api.fault = ({ sub }) => {
      if (sub === "eviction") setTimeout(() => interrupt.abort(new Error("interrupted")), 500);
      return undefined;
    };
    const { run } = await roll(api, "deployment/web", drainNode, {
      load: service.load(),
      signal: interrupt.signal,
    });
    assert.equal(run.outcome.kind, "interrupted");
    assert.equal(run.undone, "uncordoned n1");
    assert.equal(isCordoned(api), false);
    assert.ok(run.recording.records.length > 100, String(run.recording.records.length));
  },
);

test(
  "a load that reached its bound leaves the rest untested, and the result says so",
  { timeout: bound },
  async () => {
    await using api = await cluster();
    await using service = await FakeService.start(api);
    // At 100/s they are sent long before the first pod stops: load within a second before that would count as a test of it.
    const { run } = await roll(api, "deployment/web", restart, { load: service.load({ maxRequests: 30 }) });
    const result = rolloutResult(run, {
      action: restart({ kind: "deployment", name: "web", namespace: "shop" }),
      seed: 1,
    });
    assert.deepEqual([result.terminations, result.untested, result.lost], [2, 2, 0]);
    assert.match(
      rolloutNotes(run).join("\n"),
      /The load ended .* before the run did, after 30 requests: .* untested/,
    );
  },
);
