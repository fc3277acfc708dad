import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "../cluster/index.ts";
import { apply } from "../test/support.ts";
import { isInjected, madeDeployment, madePod } from "./installation.ts";

const injected = "default";
/** A namespace without a label, for comparison: the API server itself may be slow or away. */
const plain = "plain";
const everyMs = 200;

/** What became of the calls in one namespace. */
export interface CallsSeen {
  made: number;
  /** Of the pods among them. */
  injected: number;
  /** Milliseconds. */
  slowest: number;
  failed: number;
  /** Of those that failed, by what was said. */
  readonly said: Record<string, number>;
}

export interface Calls {
  readonly injected: CallsSeen;
  readonly plain: CallsSeen;
}

/** Makes pods and Deployments as dry runs while something happens, in the injected namespace and beside it. */
export async function callingDuring(cluster: Cluster, act: () => Promise<void>): Promise<Calls> {
  await apply(cluster, { apiVersion: "v1", kind: "Namespace", metadata: { name: plain } });
  const end = new AbortController();
  const both = Promise.all([callUntil(end.signal, cluster, injected), callUntil(end.signal, cluster, plain)]);
  try {
    await act();
  } finally {
    end.abort();
  }
  const [labelled, other] = await both;
  return { injected: labelled, plain: other };
}

async function callUntil(end: AbortSignal, cluster: Cluster, namespace: string): Promise<CallsSeen> {
  const seen: CallsSeen = { made: 0, injected: 0, slowest: 0, failed: 0, said: {} };
  while (!end.aborted) {
    const began = performance.now();
    try {
      if (seen.made % 2 === 1) await madeDeployment(cluster, namespace);
      else if (isInjected(await madePod(cluster, namespace))) seen.injected++;
    } catch (error) {
      seen.failed++;
      seen.said[String(error)] = (seen.said[String(error)] ?? 0) + 1;
    }
    seen.made++;
    seen.slowest = Math.max(seen.slowest, performance.now() - began);
    await sleep(everyMs);
  }
  return seen;
}

/** One line: calls, how many failed, and the slowest, in the injected namespace and beside it. */
export function callsText({ injected: ours, plain: others }: Calls): string {
  const of = ({ made, failed, slowest }: CallsSeen): string =>
    `${made} calls, ${failed} failed, slowest ${(slowest / 1_000).toFixed(1)} s`;
  const said = Object.entries(ours.said).map(([words, count]) => `\n    ${count} x ${words}`);
  const pods = `${ours.injected} of ${Math.ceil(ours.made / 2)} pods injected`;
  return `injected namespace: ${of(ours)}, ${pods}; beside it: ${of(others)}${said.join("")}`;
}
