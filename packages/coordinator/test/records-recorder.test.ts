import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import type { Asked } from "../../kube/test/fake-api.ts";
import { Recorder, type RecordOutcome } from "../src/records/writing/recorder.ts";
import { superfluous, type Kept, type RetentionLimits } from "../src/records/writing/retention.ts";
import { OperatorApi, until } from "../../cluster/test/operator-api.ts";
import { released, termination } from "./terminations.ts";

const resource = "lameduck.dev/drainreports";
const hour = 3_600_000;

interface Recording extends AsyncDisposable {
  readonly api: OperatorApi;
  readonly recorder: Recorder;
  readonly other: Recorder;
  readonly outcomes: RecordOutcome[];
  readonly problems: unknown[];
  /** Which of the two leads. */
  leader: "recorder" | "other" | undefined;
}

async function recording(retention?: RetentionLimits): Promise<Recording> {
  const api = await OperatorApi.start();
  const client = api.client();
  const outcomes: RecordOutcome[] = [];
  const problems: unknown[] = [];
  const made = (name: "recorder" | "other"): Recorder =>
    new Recorder(client, {
      isLeader: () => all.leader === name,
      ...(retention === undefined ? {} : { retention }),
      onOutcome: (outcome) => outcomes.push(outcome),
      onProblem: (error) => problems.push(error),
      everyMs: 10,
    });
  const all: Recording = {
    api,
    recorder: made("recorder"),
    other: made("other"),
    outcomes,
    problems,
    leader: "recorder",
    [Symbol.asyncDispose]: async () => {
      await Promise.all([all.recorder.stop(), all.other.stop()]);
      client.close();
      await api.stop();
    },
  };
  all.recorder.start();
  all.other.start();
  return all;
}

const numbered = (index: number): { name: string; uid: string } => ({
  name: `web-${index}`,
  uid: `${String(index).padStart(8, "0")}-94f1-4d4a-8a3b-3c1d00000001`,
});

const posts = (api: OperatorApi): Asked[] => api.asked.filter(({ method }) => method === "POST");

test("each termination is recorded once, by the replica that leads", async () => {
  await using all = await recording();
  const { api, recorder, other, outcomes } = all;
  const whole = released();
  for (const one of [recorder, other]) {
    one.hear(whole, "began");
    one.hear(whole, "ended");
  }
  await until(() => outcomes.length > 0, "a record");
  assert.deepEqual(outcomes, ["written"]);
  const [report] = api.items(resource) as unknown as { summary: { hold: string }; killed: string }[];
  assert.deepEqual([report?.summary.hold, report?.killed], ["5.6s", "no"]);
});

test("the successor of a killed leader writes the records that the leader had not written, and no record twice", async () => {
  await using all = await recording();
  const { api, recorder, other, outcomes } = all;
  all.leader = undefined;
  for (const index of [1, 2, 3])
    for (const one of [recorder, other]) one.hear(released(numbered(index)), "ended");
  all.leader = "recorder";
  await until(() => api.items(resource).length === 3, "three records");
  all.leader = "other";
  await until(() => outcomes.filter((one) => one === "known").length === 3, "the same three again");
  assert.equal(api.items(resource).length, 3);
});

test("an API server that is away, overloaded or starting is asked again, and an API server without the kind is not", async () => {
  await using all = await recording();
  const { api, recorder, outcomes, problems } = all;
  const faults = [503, 429, 403, 500];
  api.fault = ({ method }) => {
    const status = method === "POST" ? faults.shift() : undefined;
    return status === undefined ? undefined : { status, body: { message: "not now" } };
  };
  recorder.hear(released(), "ended");
  await until(() => outcomes.includes("written"), "written in the end");
  assert.equal(problems.length, 4);
  api.fault = () => ({ status: 404, body: { message: "the server could not find the requested resource" } });
  const { length } = posts(api);
  recorder.hear(released(numbered(4)), "ended");
  await until(() => outcomes.includes("refused"), "given up");
  assert.equal(posts(api).length, length + 1);
});

test("a pod that nothing sends to and that says nothing is not recorded", async () => {
  await using all = await recording();
  all.recorder.hear(termination(), "ended");
  all.recorder.hear(released(), "ended");
  await until(() => all.outcomes.includes("written"), "the other");
  assert.deepEqual(all.outcomes, ["unserved", "written"]);
});

test("a termination that was under way when the recorder started is recorded with what is known", async () => {
  await using all = await recording();
  const { api, recorder } = all;
  // Long ago by the clock of this machine.
  const one = released({ deletedAt: Date.now() - 30_000 });
  recorder.hear(one, "began");
  recorder.hear(one, "ended");
  await until(() => api.items(resource).length === 1, "a record");
  const [report] = api.items(resource) as unknown as { unknown: string[] }[];
  assert.match(report?.unknown[0] ?? "", /^before: the coordinator began to watch in the middle/);
});

test("reports of terminations beyond the limits are removed, the oldest first, and no other report is removed", async () => {
  await using all = await recording({ ageMs: hour, perNamespace: 5, inAll: 8 });
  const { api, recorder, outcomes } = all;
  all.leader = undefined;
  for (let index = 0; index < 4; index++)
    api.put(resource, `old-${index}`, {
      metadata: { namespace: "other", creationTimestamp: new Date(Date.now() - 2 * hour).toISOString() },
    });
  for (let index = 0; index < 3; index++)
    api.put(resource, `new-${index}`, {
      metadata: { namespace: "other", creationTimestamp: new Date(Date.now() - 60_000).toISOString() },
    });
  all.leader = "recorder";
  for (let index = 0; index < 7; index++) recorder.hear(released(numbered(index)), "ended");
  await until(() => outcomes.length === 7 && api.items(resource).length === 8, "the limits");
  const left = api.items(resource).map(({ metadata }) => metadata.name);
  assert.equal(left.filter((name) => name.startsWith("web-")).length, 5);
  assert.equal(left.filter((name) => name.startsWith("new-")).length, 3);
});

test("many terminations at once are recorded at a bounded rate, and no record is lost", async () => {
  await using all = await recording();
  const { api, recorder } = all;
  for (let index = 0; index < 160; index++) recorder.hear(released(numbered(index)), "ended");
  await until(() => posts(api).length >= 100, "the burst");
  const at = performance.now();
  await until(() => api.items(resource).length === 160, "all");
  // 60 beyond the burst at 20 a second.
  assert.ok(performance.now() - at > 1_500, "at a bounded rate");
});

const kept = fc.record({
  namespace: fc.constantFrom("a", "b", "c"),
  name: fc.string({ minLength: 1, maxLength: 4 }),
  createdAt: fc.integer({ min: 0, max: 1_000 }),
});

test("the retention of records keeps within every limit, and removes no record that all limits allow", () => {
  fc.assert(
    fc.property(fc.array(kept, { maxLength: 60 }), (all: Kept[]) => {
      const limits = { ageMs: 600, perNamespace: 5, inAll: 10 };
      const gone = new Set(superfluous(all, limits, 1_000));
      const left = all.filter((one) => !gone.has(one));
      assert.ok(left.length <= limits.inAll);
      for (const own of Map.groupBy(left, ({ namespace }) => namespace).values())
        assert.ok(own.length <= limits.perNamespace);
      assert.ok(left.every(({ createdAt }) => 1_000 - createdAt <= limits.ageMs));
      for (const { namespace, createdAt } of gone) {
        const own = left.filter((one) => one.namespace === namespace);
        const isNeedless =
          1_000 - createdAt > limits.ageMs ||
          (own.length === limits.perNamespace && own.every((one) => one.createdAt >= createdAt)) ||
          (left.length === limits.inAll && left.every((one) => one.createdAt >= createdAt));
        assert.ok(isNeedless);
      }
    }),
  );
});
