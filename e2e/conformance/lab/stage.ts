/** Runs inside of the lab's own namespaces. Usage: stage.ts RECORDER RECORDS-DIRECTORY SCENARIO... ; prints LabRuns. */
import { enterStage, insideStage, openNetwork, startStage, type Network, type Stage } from "@lameduck/stage";
import { readManifest, type Workload } from "@lameduck/manifests";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Observation } from "../recording.ts";
import {
  podManifest,
  recorderPath,
  recordsDirectory,
  type PodScenario,
  type RolloutScenario,
} from "../scenario.ts";
import { rolloutManifest } from "../record-rollout.ts";
import { podScenarios, rolloutScenarios } from "../scenarios/index.ts";

const [recorder = "", records = "", ...names] = process.argv.slice(2);

/** The stage's events are not exported as a type of their own. */
type StageEvent = Parameters<Parameters<typeof startStage>[0]["onEvent"]>[0];

/** The manifest that the cluster got, but for where the program and its records lie: the lab has no images. */
function labWorkload(manifest: object): Workload {
  const text = JSON.stringify(manifest)
    .replaceAll(`"${recorderPath}"`, JSON.stringify(recorder))
    .replaceAll(`"${recordsDirectory}/$(POD)`, `"${records}/$(POD)`);
  return readManifest(text, "scenario");
}

function launch(network: Network, workload: Workload, onEvent: (event: StageEvent) => void): Stage {
  const { template, replicas, strategy, minReadySeconds } = workload;
  const ignore = (): void => undefined;
  return startStage({
    template,
    replicas,
    strategy,
    minReadySeconds,
    network,
    onEvent,
    // Wall clock, so that the containers' own records need no conversion.
    clock: { origin: "0", now: wallClock, fromEpoch: (milliseconds) => milliseconds },
    listener: { ready: ignore, unready: ignore, terminating: ignore, gone: ignore },
  });
}

const wallClock = (): number => performance.timeOrigin + performance.now();

async function runPod(network: Network, scenario: PodScenario): Promise<Observation[]> {
  const events: StageEvent[] = [];
  const stage = launch(network, labWorkload(podManifest(scenario, "lab")), (event) => events.push(event));
  try {
    await stage.ready();
    const pod = stage.pods[0]?.name ?? "";
    await sleep(scenario.deleteAfterMs ?? 3_000);
    const deletedAt = wallClock();
    const { deleteGraceSeconds } = scenario;
    const gone = stage.deletePod(
      pod,
      deleteGraceSeconds === undefined ? {} : { graceSeconds: deleteGraceSeconds },
    );
    for (const what of scenario.meanwhile ?? [])
      if (what.do === "delete-again") {
        await sleep(what.afterMs);
        await Promise.race([stage.deletePod(pod, { graceSeconds: what.graceSeconds }), sleep(0)]);
      }
    await gone;
    const reported = events.filter((event) => event.pod === pod).flatMap(translate);
    return [...reported, ...(await recordsOf(pod))]
      .map((one) => ({ ...one, at: Math.round(one.at - deletedAt) }))
      .sort((a, b) => a.at - b.at);
  } finally {
    await stage.stop();
  }
}

async function recordsOf(pod: string): Promise<Observation[]> {
  const text = await readFile(join(records, `${pod}.jsonl`), "utf8");
  return text
    .trim()
    .split("\n")
    .map((line) => ({ by: "container", ...(JSON.parse(line) as object) }) as Observation);
}

function translate(event: StageEvent): Observation[] {
  const { at } = event;
  switch (event.type) {
    case "exited":
      return [
        {
          at,
          by: "runtime",
          container: event.container,
          event: "exited",
          code: event.signal ? 137 : (event.code ?? -1),
        },
      ];
    case "ready":
      return [{ at, by: "endpoint", ready: true, serving: true, terminating: false }];
    case "deleted":
      return [{ at, by: "endpoint", ready: false, serving: true, terminating: true }];
    case "gone":
      return [{ at, by: "endpoint", event: "gone" }];
    default:
      return [];
  }
}

async function runRollout(network: Network, scenario: RolloutScenario): Promise<Observation[]> {
  const numbers = new Map<string, number>();
  const seen: (Observation & { by: "rollout" })[] = [];
  let restartedAt = Infinity;
  const stage = launch(network, labWorkload(rolloutManifest(scenario)), (event) => {
    if (!numbers.has(event.pod)) numbers.set(event.pod, numbers.size + 1);
    const pod = numbers.get(event.pod) ?? 0;
    const { at, type } = event;
    if (
      at < restartedAt ||
      !(type === "created" || type === "ready" || type === "deleted" || type === "gone")
    )
      return;
    const generation = pod <= scenario.replicas ? "old" : "new";
    seen.push({ at: Math.round(at - restartedAt), by: "rollout", pod, generation, event: type });
  });
  try {
    await stage.ready();
    restartedAt = wallClock();
    await stage.rollout();
    return seen;
  } finally {
    await stage.stop();
  }
}

if (!insideStage()) {
  const options = { network: "namespaces", writable: [records] } as const;
  process.exitCode = await enterStage(import.meta.filename, process.argv.slice(2), options);
} else {
  const network = await openNetwork();
  try {
    const wanted = ({ name }: { name: string }): boolean => names.includes(name);
    const runs = [
      ...podScenarios.filter(wanted).map((one) => [one.name, () => runPod(network, one)] as const),
      ...rolloutScenarios.filter(wanted).map((one) => [one.name, () => runRollout(network, one)] as const),
    ];
    const results = await Promise.all(runs.map(async ([name, run]) => [name, await run()] as const));
    process.stdout.write(JSON.stringify(Object.fromEntries(results)));
  } finally {
    await network.close();
  }
}
