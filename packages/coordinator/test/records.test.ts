import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Registry } from "@prometheus-io/client";
import type { Answer, Item } from "../../kube/test/fake-api.ts";
import { processMetrics } from "@lameduck/program";
import { recordMetrics } from "../src/records/metrics.ts";
import { describeTermination } from "../src/records/report/describe.ts";
import { Records } from "../src/records/records.ts";
import { OperatorApi, until } from "../../cluster/test/operator-api.ts";
import { consumer, deletedAt, released, termination } from "./terminations.ts";

/** Refuses names as the API server does. */
class StrictApi extends OperatorApi {
  static override async start(): Promise<StrictApi> {
    const api = new StrictApi();
    await api.listen();
    return api;
  }

  protected override act(method: string, resource: string, name: string, sub: string, body: Item): Answer {
    const isRight = method !== "POST" || /^[a-z0-9][a-z0-9.-]{0,252}$/.test(body.metadata.name);
    if (isRight) return super.act(method, resource, name, sub, body);
    return { status: 422, body: { reason: "Invalid", message: "metadata.name: Invalid value" } };
  }
}

interface Recording extends AsyncDisposable {
  readonly api: OperatorApi;
  readonly records: Records;
  readonly registry: Registry;
  readonly problems: string[];
  /** Of the clock that everything is timed by, milliseconds. */
  now: number;
}

async function recording(): Promise<Recording> {
  const api = await StrictApi.start();
  const client = api.client();
  const registry = new Registry();
  const problems: string[] = [];
  const all: Recording = {
    api,
    registry,
    problems,
    now: deletedAt + 50,
    records: new Records(client, {
      namespace: "lameduck-system",
      name: "coordinator-1",
      registry,
      onProblem: (part, error) => problems.push(`${part}: ${String(error)}`),
      now: () => all.now,
      everyMs: 10,
    }),
    [Symbol.asyncDispose]: async () => {
      await all.records.stop();
      client.close();
      await api.stop();
    },
  };
  all.records.start();
  return all;
}

/** A record is counted after it is written. */
async function counted({ registry }: Recording, line: string): Promise<void> {
  const end = performance.now() + 30_000;
  while (!(await registry.metrics()).split("\n").includes(line))
    if (performance.now() > end) assert.fail(`never: ${line}`);
    else await new Promise((resolve) => setTimeout(resolve, 10));
}

const numbered = (index: number): { name: string; uid: string } => ({
  name: `web-${index}`,
  uid: `${String(index).padStart(8, "0")}-94f1-4d4a-8a3b-3c1d00000001`,
});

interface EventObject {
  readonly involvedObject: { readonly kind: string; readonly name: string; readonly uid?: string };
  readonly reason: string;
  readonly type: string;
  readonly count: number;
  readonly message: string;
}

const eventsIn = (api: OperatorApi): EventObject[] => api.items("events") as unknown as EventObject[];

describe("Events on workloads", () => {
  it("Events name the workload with its uid, so that kubectl describe shows them", async () => {
    await using all = await recording();
    all.api.put("apps/deployments", "web");
    all.records.hear(released(), "ended");
    await until(() => eventsIn(all.api).length === 1, "an Event");
    const [event] = eventsIn(all.api);
    const uid = all.api.get("apps/deployments", "web")?.metadata.uid;
    assert.deepEqual(
      { ...event?.involvedObject },
      { apiVersion: "apps/v1", kind: "Deployment", name: "web", namespace: "shop", uid },
    );
    assert.deepEqual([event?.reason, event?.type], ["DrainReleased", "Normal"]);
    assert.match(event?.message ?? "", /released by 5 of 5 senders after 5\.\ds \(kube-proxy\/node5 last\)/);
  });

  it("Events of a workload that the API server refuses do not keep back Events of other workloads", async () => {
    await using all = await recording();
    all.records.hear(
      released({ ...numbered(1), workload: { kind: "Deployment", name: "Not A Name" } }),
      "ended",
    );
    all.records.hear(released(numbered(2)), "ended");
    await until(() => eventsIn(all.api).length === 1, "the Event of the other");
    assert.equal(eventsIn(all.api)[0]?.involvedObject.name, "web");
  });

  it("Events say what went wrong, each with its reason", async () => {
    await using all = await recording();
    const { records, api } = all;
    const exits = [{ container: "app", exitCode: 137, finishedAt: deletedAt + 60_000 }];
    const consumers = new Map([
      ["kube-proxy/node1", consumer({ appliedAt: deletedAt + 1_000 })],
      ["kube-proxy/node2", consumer({ isSilent: true })],
      ["haproxy/edge", consumer({ kind: "haproxy", isMissing: true })],
    ]);
    const said = { phase: "closing", reason: "cap", "held-ms": "30000" };
    records.hear(
      termination({
        consumers,
        exits,
        reported: said,
        overruledBy: "10.244.3.4",
        sequence: 17,
        withdrawnAt: deletedAt,
      }),
      "ended",
    );
    await until(() => eventsIn(api).length === 5, "five Events");
    assert.deepEqual(
      eventsIn(api)
        .map(({ reason, type }) => `${type} ${reason}`)
        .sort(),
      [
        "Warning DrainCapped",
        "Warning DrainConsumerBehind",
        "Warning DrainConsumerMissing",
        "Warning DrainKilled",
        "Warning DrainOverruled",
      ],
    );
  });

  it("a consumer that never lets go is named in an Event, in a metric and in the report, by the replica that leads", async () => {
    await using all = await recording();
    const { records, api } = all;
    const one = released(numbered(1));
    records.hear(one, "ended");
    await until(() => eventsIn(api).length === 1, "its end");
    const faults = [503];
    api.fault = ({ method, resource }) => {
      const status = method === "PATCH" && resource.endsWith("drainreports") ? faults.shift() : undefined;
      return status === undefined ? undefined : { status, body: { message: "not now" } };
    };
    const reason = "not reloaded since its files changed";
    records.hear({ ...one, stuck: [{ name: "nginx/edge", reason }] }, "stuck");
    await until(() => eventsIn(api).length === 2, "the Event");
    const event = eventsIn(api).find((each) => each.reason === "DrainConsumerStuck");
    assert.deepEqual(
      [event?.type, event?.message],
      ["Warning", `pod web-1 had ended 60 s before, and nginx/edge had not stopped sending (${reason})`],
    );
    await counted(all, 'lameduck_drain_consumers_stuck_total{consumer="nginx/edge"} 1');
    interface Report extends Item {
      readonly stuckConsumers?: unknown;
      readonly summary: { readonly hold: string; readonly text: string };
    }
    const report = (): Report | undefined => api.items("lameduck.dev/drainreports")[0] as Report | undefined;
    await until(() => report()?.stuckConsumers !== undefined, "the report, although it failed at first");
    assert.deepEqual(report()?.stuckConsumers, [{ name: "nginx/edge", reason }]);
    assert.equal(report()?.summary.hold, "5.6s", "the rest of it stays");
    assert.match(
      report()?.summary.text ?? "",
      /; 60 s after its end nginx\/edge had not stopped sending \(not reloaded/,
    );
    records.hear({ ...released(numbered(2)), stuck: [{ name: "nginx/edge" }] }, "stuck");
    await counted(all, 'lameduck_drain_consumers_stuck_total{consumer="nginx/edge"} 2');
    assert.equal(api.items("lameduck.dev/drainreports").length, 1, "none is made for it");
  });

  it("a rollout has one Event whose count grows, written at most once a minute", async () => {
    await using all = await recording();
    const { api, records } = all;
    records.hear(released(numbered(0)), "ended");
    await until(() => eventsIn(api).length === 1, "the first");
    for (let index = 1; index < 30; index++) records.hear(released(numbered(index)), "ended");
    await until(() => api.items("lameduck.dev/drainreports").length === 30, "all records");
    const writes = (): number =>
      api.asked.filter(({ resource, method }) => resource === "events" && method !== "GET").length;
    assert.equal(writes(), 1);
    await counted(all, 'lameduck_drain_events_total{reason="DrainReleased"} 30');
    all.now += 61_000;
    await until(() => eventsIn(api)[0]?.count === 30, "the count");
    assert.equal(writes(), 2);
    assert.equal(eventsIn(api).length, 1);
  });
});

describe("metrics", () => {
  it("metrics of records count each termination once, and a fact that nobody told as unknown", async () => {
    await using all = await recording();
    const { records, registry } = all;
    all.now = deletedAt + 20;
    const { reported } = released();
    const one = released({ reported: { ...reported, phase: "lame-duck" } });
    records.hear(one, "began");
    all.now = deletedAt + 5_620;
    records.hear(Object.assign(one, { reported }), "reported");
    records.hear(one, "ended");
    records.hear(
      termination({
        ...numbered(2),
        consumers: new Map([["kube-proxy/node1", consumer({ isMissing: true })]]),
      }),
      "ended",
    );
    await counted(all, 'lameduck_drain_reports_total{outcome="written"} 2');
    const text = await registry.metrics();
    for (const line of [
      'lameduck_drains_total{reason="acknowledged",program="library"} 1',
      'lameduck_drains_killed_total{killed="no"} 1',
      'lameduck_drains_killed_total{killed="unknown"} 1',
      'lameduck_drain_hold_seconds_count{program="library"} 1',
      'lameduck_workload_drains_total{pod_namespace="shop",workload="deployment/web",killed="no"} 1',
      'lameduck_workload_hold_seconds_sum{pod_namespace="shop",workload="deployment/web"} 5.6',
      'lameduck_workload_hold_seconds_count{pod_namespace="shop",workload="deployment/web"} 1',
      'lameduck_drain_hold_seconds_sum{program="library"} 5.6',
      'lameduck_drain_hold_after_release_seconds_bucket{le="0.75"} 1',
      'lameduck_drain_at_risk_total{what="requests"} 1660',
      'lameduck_drain_consumers_total{kind="kube-proxy",state="applied"} 5',
      'lameduck_drain_consumers_total{kind="kube-proxy",state="missing"} 1',
      'lameduck_consumer_convergence_seconds_count{kind="kube-proxy",basis="rules"} 5',
      'lameduck_drain_reports_total{outcome="written"} 2',
    ])
      assert.ok(text.includes(line), `${line}\n${text}`);
  });

  it("metrics of records do not grow in number with what pods say", async () => {
    await using all = await recording();
    const { reported } = released();
    for (let index = 0; index < 20; index++)
      all.records.hear(
        released({ ...numbered(index), reported: { ...reported, reason: `made-up-${"x".repeat(index)}` } }),
        "ended",
      );
    await counted(all, 'lameduck_drain_reports_total{outcome="written"} 20');
    const text = await all.registry.metrics();
    assert.equal(text.match(/^lameduck_drains_total\{/gm)?.length, 1);
  });
});

it("a killed termination increases its metric also where it is the first one", async () => {
  const registry = new Registry();
  recordMetrics(registry, () => ({ kept: 0, waiting: 0 }));
  processMetrics(registry, "coordinator");
  const text = await registry.metrics();
  for (const killed of ["yes", "no", "unknown"])
    assert.match(text, new RegExp(`^lameduck_drains_killed_total\\{killed="${killed}"\\} 0$`, "m"));
  assert.match(text, /^lameduck_build_info\{component="coordinator",version="\d+\.\d+\.\d+.*"\} 1$/m);
  for (const name of ["cpu_seconds_total", "resident_memory_bytes", "start_time_seconds", "open_fds"])
    assert.match(text, new RegExp(`^process_${name} [\\d.e+]+$`, "m"));
});

it("workloads beyond the first hundred share one name, as pods without a controller do", () => {
  const registry = new Registry();
  const metrics = recordMetrics(registry, () => ({ kept: 0, waiting: 0 }));
  const followed = { isWhole: true, origin: deletedAt, began: deletedAt, closingAt: deletedAt + 5_600 };
  const end = (fields: Partial<Parameters<typeof released>[0]>): void =>
    metrics.recorded(describeTermination(released(fields), followed), false);
  for (const name of ["one", "two"]) end({ name, workload: undefined });
  for (let index = 0; index < 120; index++) end({ workload: { kind: "Deployment", name: `web-${index}` } });
  return registry.metrics().then((text) => {
    const series = text.match(/^lameduck_workload_drains_total\{.*$/gm) ?? [];
    assert.equal(series.length, 101);
    const has = (labels: string): boolean =>
      series.includes(
        `lameduck_workload_drains_total{${labels},killed="no"} ${labels.includes("others") ? 21 : 2}`,
      );
    assert.ok(has('pod_namespace="shop",workload="pod"'));
    assert.ok(has('pod_namespace="others",workload="others"'));
  });
});
