import type { Readable } from "node:stream";
import type { KubernetesClient } from "@lameduck/kube";
import { phaseIn, type PhaseLine } from "@lameduck/accounting/recording";

/** Follows the log of a terminating pod for the phases that Lameduck reports in it. It ends with the pod. A failure costs the phases only. */
export async function followPhases(
  client: KubernetesClient,
  pod: { readonly namespace: string; readonly name: string; readonly container: string },
  onPhase: (phase: PhaseLine) => void,
  signal: AbortSignal,
): Promise<void> {
  const query = new URLSearchParams({
    container: pod.container,
    follow: "true",
    sinceSeconds: "5",
    timestamps: "true",
  });
  const path = `/api/v1/namespaces/${pod.namespace}/pods/${pod.name}/log?${query.toString()}`;
  try {
    for await (const phase of phasesIn(await client.stream(path, signal))) onPhase(phase);
  } catch {
    // The container has gone, or logs may not be read. Then the phases are unknown, and the API server's reports are used.
  }
}

/** The phases that a log tells, in its order. */
export async function* phasesIn(log: Readable): AsyncGenerator<PhaseLine> {
  let rest = "";
  log.setEncoding("utf8");
  for await (const chunk of log as AsyncIterable<string>) {
    const lines = (rest + chunk).split("\n");
    // The buffer of a line without an end is bounded.
    rest = (lines.pop() ?? "").slice(-10_000);
    for (const line of lines) {
      const phase = phaseIn(line, Date.now());
      if (phase) yield phase;
    }
  }
}
