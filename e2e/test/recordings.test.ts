import assert from "node:assert/strict";
import { it } from "node:test";
import { readRecording, when, type Observation, type Recording } from "../conformance/recording.ts";

/** What docs/evidence/kubelet.md says, held against the recordings it names. Times in milliseconds since the deletion. */
const at = (recording: Recording, container: string, event: string, detail?: string): number => {
  const time = when(recording, container, event, detail);
  assert.ok(time !== undefined, `${recording.scenario}: ${container} ${event}`);
  return time;
};

const near = (time: number, expected: number, words: string): void =>
  assert.ok(Math.abs(time - expected) < 600, `${words}: ${time} ms, not about ${expected} ms`);

const endpoints = (recording: Recording): Extract<Observation, { by: "endpoint"; ready: boolean }>[] =>
  recording.observations.filter((one) => one.by === "endpoint").filter((one) => "ready" in one);

it("preStop hooks run in parallel and delay their own container only", async () => {
  const recording = await readRecording("hooks-in-parallel");
  near(at(recording, "none", "signal"), 0, "no hook");
  near(at(recording, "short", "signal"), 1_000, "hook of 1 s");
  near(at(recording, "long", "signal"), 3_000, "hook of 3 s");
});

it("a hook's failure or an HTTP status delays nothing and changes nothing", async () => {
  const http = await readRecording("http-hooks");
  near(at(http, "says-500", "signal"), at(http, "answers", "signal"), "status 500");
  near(at(http, "refused", "signal"), 0, "refused connection");
  near(at(await readRecording("failing-hooks"), "no-such-file", "signal"), 0, "hook that cannot start");
});

it("a hook is cut at the end of the grace period, and SIGTERM then leaves 2 s", async () => {
  const recording = await readRecording("hook-longer-than-grace");
  near(at(recording, "ignores", "signal"), 3_000, "SIGTERM at the end of the grace period");
  near(at(recording, "ignores", "exited"), 5_000, "SIGKILL 2 s later");
});

it("the whole seconds of a hook are taken off the grace period, and the fraction is not", async () => {
  const recording = await readRecording("fractions");
  for (const [container, hook, left] of [
    ["hook-600ms", 600, 6_000],
    ["hook-1500ms", 1_500, 5_000],
    ["hook-2400ms", 2_400, 4_000],
    ["no-hook", 0, 6_000],
  ] as const)
    near(at(recording, container, "exited"), hook + left, container);
});

it("the grace periods of 1 s and 0 s leave a hook 1 s and SIGTERM 2 s", async () => {
  for (const scenario of ["grace-1", "grace-0"]) {
    const recording = await readRecording(scenario);
    near(at(recording, "ignores", "exited"), 2_000, `${scenario}, no hook`);
    near(at(recording, "hook", "signal"), 1_000, `${scenario}, SIGTERM`);
    near(at(recording, "hook", "exited"), 3_000, `${scenario}, SIGKILL`);
  }
});

it("a shorter second deletion changes nothing, and a restarted kubelet begins anew", async () => {
  near(at(await readRecording("deleted-again"), "main", "exited"), 30_000, "the first grace period counts");
  const restarted = await readRecording("kubelet-restarted");
  const hooks = restarted.observations.filter((one) => one.by === "container" && one.event === "hook-begun");
  assert.equal(hooks.length, 2);
  near(at(restarted, "main", "exited") - (hooks[1]?.at ?? 0), 12_000, "the whole grace period again");
});

it("a sleep hook outlives its container, and an exec hook does not", async () => {
  const recording = await readRecording("sleep-longer-than-container");
  assert.ok(at(recording, "exec", "exited") < 7_000);
  const gone = recording.observations.find((one) => one.by === "pod" && "event" in one)?.at ?? 0;
  assert.ok(gone > 8_900, "the pod stays for the sleep hook of 9 s");
});

it("sidecars end after the main containers in reverse order, and all at once with 2 s when the time is over", async () => {
  const inOrder = await readRecording("sidecars-in-order");
  const order = [
    at(inOrder, "main", "exiting"),
    at(inOrder, "second", "signal"),
    at(inOrder, "second", "exiting"),
    at(inOrder, "first", "signal"),
  ];
  assert.deepEqual(
    order,
    [...order].sort((a, b) => a - b),
  );
  assert.ok(at(inOrder, "second", "hook-begun") < 500, "hooks do not wait");
  const outOfTime = await readRecording("sidecars-out-of-time");
  for (const sidecar of ["first", "second"]) {
    near(at(outOfTime, sidecar, "signal"), 4_000, "SIGTERM at the end");
    near(at(outOfTime, sidecar, "exited"), 6_000, "SIGKILL 2 s later");
  }
});

it("liveness probes stop at once, and readiness probes go on to the end", async () => {
  const recording = await readRecording("probes-during-termination");
  const probes = (path: string): number[] =>
    recording.observations
      .filter((one) => one.by === "container" && one.event === "answered" && one.detail === path)
      .map((one) => one.at);
  assert.ok(Math.max(...probes("/live")) < 100);
  assert.ok(Math.max(...probes("/ready")) > 5_500, "after SIGTERM, too");
});

it("an endpoint is terminating and serving at once, and stops serving when readiness fails", async () => {
  const recording = await readRecording("unready-during-termination");
  const [, deleted, unready] = endpoints(recording)
    .filter(({ at }) => at > -3_500)
    .filter((one) => one.serving || one.terminating);
  assert.deepEqual(
    { ...deleted, at: 0 },
    { at: 0, by: "endpoint", ready: false, serving: true, terminating: true },
  );
  assert.deepEqual(
    { ...unready, at: 0 },
    { at: 0, by: "endpoint", ready: false, serving: false, terminating: true },
  );
});

it("a liveness restart leaves the endpoint ready until the container has ended", async () => {
  const recording = await readRecording("liveness-restart");
  const signal =
    recording.observations.find((one) => one.by === "container" && one.event === "signal")?.at ?? 0;
  const killed = recording.observations.find((one) => one.by === "runtime")?.at ?? 0;
  assert.ok(signal < killed && killed < 0, "before the deletion");
  const between = endpoints(recording).filter((one) => one.at > signal - 1_500 && one.at < killed);
  assert.deepEqual(between, [], "no endpoint changed while it ended");
});

it("readiness that fails during a liveness restart takes the pod from the ready endpoints at once", async () => {
  const recording = await readRecording("liveness-restart-unready");
  const begun =
    recording.observations.find(
      ({ by, ...one }) => by === "container" && "event" in one && one.event === "hook-begun",
    )?.at ?? 0;
  const ended = recording.observations.find(({ by }) => by === "runtime")?.at ?? 0;
  const [unready] = endpoints(recording).filter(({ at }) => at > begun);
  assert.ok(unready && !unready.ready && unready.at < ended - 4_000, "long before the container ended");
});

/** From the beginning of the end on. */
const probesAfter = ({ observations }: Recording): Observation[] =>
  observations.filter(
    (one) => one.by === "container" && (one.event === "answered" || one.event === "refused") && one.at > 100,
  );

it("a node that shuts down gives pods its own time, asks no probe, and leaves endpoints ready to the end", async () => {
  const recording = await readRecording("node-shutdown");
  near(at(recording, "main", "signal"), 6_000, "SIGTERM after the hook");
  near(at(recording, "main", "exited"), 12_000, "SIGKILL at the end of the node's time");
  assert.deepEqual(probesAfter(recording), []);
  assert.deepEqual(
    endpoints(recording).filter(({ at: time }) => time > 0),
    [],
    "no endpoint changed before it was gone",
  );
  const nodes = recording.observations.filter((one) => one.by === "node").filter(({ at: time }) => time > 0);
  assert.deepEqual([nodes[0]?.ready, nodes[0]?.message], [false, "node is shutting down"]);
  assert.ok(nodes[0] && nodes[0].at < 600);
});

it("a pod that does not tolerate a node that is not ready is deleted within five seconds of its shutdown", async () => {
  const recording = await readRecording("node-shutdown-tolerated");
  const [deleted] = endpoints(recording).filter(({ at: time }) => time > 0);
  assert.deepEqual(
    { ...deleted, at: 0 },
    { at: 0, by: "endpoint", ready: false, serving: true, terminating: true },
  );
  assert.ok(deleted && deleted.at < 5_600, String(deleted?.at));
  near(at(recording, "main", "exited"), 12_000, "SIGKILL as without the deletion");
});

it("an eviction by the kubelet gives a hook 1 s and SIGTERM 2 s, asks no probe, and moves no endpoint", async () => {
  const recording = await readRecording("kubelet-eviction");
  const begun = at(recording, "main", "hook-begun");
  near(at(recording, "main", "signal") - begun, 1_000, "SIGTERM");
  near(at(recording, "main", "exited") - begun, 3_000, "SIGKILL");
  assert.deepEqual(
    probesAfter(recording).filter(({ at: time }) => time > begun + 100),
    [],
  );
  assert.deepEqual(
    endpoints(recording).filter(({ at: time }) => time > begun),
    [],
  );
});

it("the time of minReadySeconds counts from a time cut to whole seconds", async () => {
  const { observations } = await readRecording("rollout-min-ready");
  const first = (event: string): number =>
    observations.find((one) => "event" in one && one.event === event)?.at ?? 0;
  const waited = first("deleted") - first("ready");
  assert.ok(waited > 1_900 && waited < 3_200, `${waited} ms for 3 s`);
});
