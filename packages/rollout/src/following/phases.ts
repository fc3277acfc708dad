import type { Readable } from "node:stream";
import type { KubernetesClient } from "@lameduck/kube";
import type { PodFacts } from "./pod-facts.ts";

export type Phase = PodFacts["phases"][number];

/** Lines of the library and of the init carry this; other lines are the app's own and are not looked at. */
const mark = '"lameduck":"phase"';
const phases = new Set(["lame-duck", "closing", "closed"]);

/** Follows the log of a terminating pod for the phases that Lameduck reports in it. It ends with the pod. A failure costs the phases only. */
export async function followPhases(
  client: KubernetesClient,
  pod: { readonly namespace: string; readonly name: string; readonly container: string },
  onPhase: (phase: Phase) => void,
  signal: AbortSignal,
): Promise<void> {
  const query = new URLSearchParams({ container: pod.container, follow: "true", sinceSeconds: "5" });
  const path = `/api/v1/namespaces/${pod.namespace}/pods/${pod.name}/log?${query.toString()}`;
  try {
    for await (const phase of phasesIn(await client.stream(path, signal))) onPhase(phase);
  } catch {
    // The container has gone, or logs may not be read. Then the phases are unknown, and the API server's reports are used.
  }
}

/** The phases that a log tells, in its order. */
export async function* phasesIn(log: Readable): AsyncGenerator<Phase> {
  let rest = "";
  log.setEncoding("utf8");
  for await (const chunk of log as AsyncIterable<string>) {
    const lines = (rest + chunk).split("\n");
    // The buffer of a line without an end is bounded.
    rest = (lines.pop() ?? "").slice(-10_000);
    for (const line of lines) {
      const phase = parsePhase(line);
      if (phase) yield phase;
    }
  }
}

function parsePhase(line: string): Phase | undefined {
  const start = line.indexOf("{");
  if (start < 0 || !line.includes(mark)) return undefined;
  try {
    const said = JSON.parse(line.slice(start)) as Record<string, unknown>;
    const { phase, at, reason, lameduck: _, ...detail } = said;
    if (typeof phase !== "string" || !phases.has(phase) || typeof at !== "number") return undefined;
    return {
      at,
      phase: phase as Phase["phase"],
      reason: typeof reason === "string" ? reason : undefined,
      detail,
    };
  } catch {
    return undefined;
  }
}
