/**
 * Records what the kubelet and the controllers do on a real cluster. Tests compare the lab with the recordings:
 *
 *     npm run conformance:record -- [SCENARIO ...]     all scenarios if none is named
 */
import { Cluster } from "../cluster/index.ts";
import { listed, runMain, say } from "../program.ts";
import { PodRecorder } from "./record-pod.ts";
import { recordRollout, rolloutManifest } from "./record-rollout.ts";
import { writeRecording, type Observation } from "./recording.ts";
import { RuntimeEvents } from "./runtime-events.ts";
import { podManifest, type PodScenario } from "./scenario.ts";
import { podScenarios, rolloutScenarios } from "./scenarios/index.ts";
import { commandLine } from "../../scripts/command-line.ts";

/** So many pods end at the same time: more, and the machine's two processors show in the times. */
const together = 4;

async function record(only: ReadonlySet<string>): Promise<void> {
  await using cluster = await Cluster.up({ nodes: 2 });
  const wanted = ({ name }: { name: string }): boolean => only.size === 0 || only.has(name);
  const of = await versions(cluster);
  const keep = async (
    scenario: { name: string; asks: string },
    manifest: object,
    observations: Observation[],
  ): Promise<void> => {
    await writeRecording({
      scenario: scenario.name,
      asks: scenario.asks,
      of,
      recordedAt: new Date().toISOString(),
      manifest,
      observations,
    });
    say(`recorded ${scenario.name}: ${observations.length} observations`);
  };
  const recordPods = async (batch: readonly PodScenario[], node: string): Promise<void> => {
    using runtime = new RuntimeEvents(cluster, node);
    // All of them to their end, even if one fails: the cluster must not go while others still use it.
    const results = await Promise.allSettled(
      batch.map(async (scenario) => {
        const observations = await new PodRecorder(cluster, scenario, node, runtime.exits).record();
        await keep(scenario, podManifest(scenario, "NODE"), observations);
      }),
    );
    for (const result of results) if (result.status === "rejected") throw result.reason;
  };
  const pods = podScenarios.filter(wanted);
  const inCompany = pods.filter(({ alone }) => !alone);
  for (let at = 0; at < inCompany.length; at += together)
    await recordPods(inCompany.slice(at, at + together), "node1");
  for (const scenario of pods.filter(({ alone }) => alone)) await recordPods([scenario], "node2");
  for (const scenario of rolloutScenarios.filter(wanted))
    await keep(scenario, rolloutManifest(scenario), await recordRollout(cluster, scenario));
}

async function versions(cluster: Cluster): Promise<{ kubernetes: string; containerd: string }> {
  const path = "/api/v1/nodes/node1";
  const { status } = await cluster.api.get<{
    status: { nodeInfo: { kubeletVersion: string; containerRuntimeVersion: string } };
  }>(path);
  const { kubeletVersion, containerRuntimeVersion } = status.nodeInfo;
  return { kubernetes: kubeletVersion, containerd: containerRuntimeVersion.replace("containerd://", "") };
}

const { positionals } = commandLine(import.meta.url, { allowPositionals: true });
const known = [...podScenarios, ...rolloutScenarios].map(({ name }) => name);
await runMain(() => record(new Set(positionals.flatMap((name) => listed("SCENARIO", name, known)))));
