import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { propagationOf } from "@lameduck/load";
import type { RemedyResult, Results } from "@lameduck/accounting";
import type { Scenario } from "../../packages/simulator/src/model/scenario.ts";
import { empirical } from "../../packages/simulator/src/advise/recording.ts";
import { bare, drained } from "../../packages/simulator/src/policies/drained.ts";
import { scenarioFrom } from "../../packages/simulator/src/scenario/parse.ts";
import { mean } from "../../packages/simulator/src/simulate/statistics.ts";
import { lostToTerminations } from "./digest.ts";
import { predict } from "./predict.ts";
import { compared, type Compared } from "./table.ts";

/** What both play: four proxies of connections before six pods, new connections only. */
const shape = { replicas: 6, senders: 4, rps: 150, rollouts: 3 } as const;
const propagations = ["ebpf", "idle-kube-proxy", "traefik", "mesh"] as const;
const remedies = {
  nothing: () => bare("nothing", { policy: "fixed", delay: 0, floor: 0 }),
  "sleep-2": () => bare("sleep-2", { policy: "fixed", delay: 0, floor: 0, prestop: "2s" }),
  adaptive: () => drained("adaptive", {}),
} as const;
const program = new URL("../../packages/cli/bin/lameduck.js", import.meta.url).pathname;

/** Runs each propagation with each remedy in the lab's local stage, and the same in the model. Results that lie in `folder` are used again. */
export function* compareLab(
  say: (line: string) => void,
  { only, folder }: { only?: string | undefined; folder?: string | undefined } = {},
): Generator<Compared> {
  const own = folder === undefined ? mkdtempSync(join(tmpdir(), "lameduck-compare-")) : undefined;
  try {
    for (const propagation of propagations) {
      if (only !== undefined && only !== propagation) continue;
      const file = join(own ?? folder ?? "", `${propagation}.json`);
      say(`lab: ${propagation}`);
      if (!existsSync(file)) runLab(propagation, file);
      const results = JSON.parse(readFileSync(file, "utf8")) as Results;
      for (const result of results.remedies) yield compareRemedy(propagation, result);
    }
  } finally {
    if (own !== undefined) rmSync(own, { recursive: true });
  }
}

function runLab(propagation: string, file: string): void {
  const options = {
    senders: `l4:${shape.senders}`,
    pooled: 0,
    slow: 0,
    large: 0,
    rps: shape.rps,
    replicas: shape.replicas,
    rollouts: shape.rollouts,
    propagation,
    remedies: Object.keys(remedies).join(","),
    json: file,
  };
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const { status, stderr } = spawnSync(process.execPath, [program, "lab", ...flags], { encoding: "utf8" });
  if (status !== 0) throw new Error(`the lab ended with ${status}: ${stderr}`);
}

function compareRemedy(propagation: (typeof propagations)[number], result: RemedyResult): Compared {
  const name = result.remedy as keyof typeof remedies;
  const { scenario: usual } = scenarioFrom({
    name: `${propagation}, ${name}`,
    replicas: shape.replicas,
    rollout: { ready: empirical(spans(result, "created", "ready")) },
    senders: [{ name: propagation, convergence: 0, count: shape.senders }],
    traffic: { perPod: shape.rps / shape.replicas, spread: "known", service: 0 },
    pod: {
      prestop: name === "sleep-2" ? "2s" : 0,
      watched: Math.max(1_000, mean(spans(result, "ready", "deleted"))),
      // As this lab's kubelet is.
      reaction: mean(spans(result, "deleted", name === "sleep-2" ? "pre-stop-begun" : "signalled")),
      ...stallsOf(result),
    },
  });
  const scenario = propagatedAsInLab(usual, propagation);
  return compared(
    `${propagation}, ${name}`,
    {
      terminations: result.terminations,
      lost: mean(result.each.map(({ lostByCause }) => lostToTerminations(lostByCause))),
      hold: mean(result.each.map(({ hold }) => hold)),
      oracle: mean(result.each.flatMap(({ oracle }) => oracle ?? [])),
    },
    predict(scenario, remedies[name](), {
      rollouts: result.terminations / shape.replicas,
      perRollout: shape.replicas,
    }),
  );
}

/** The lab draws what the model plays: senders that learn by the lab's own numbers, and in the order of the facts. */
function propagatedAsInLab(scenario: Scenario, propagation: (typeof propagations)[number]): Scenario {
  const { shared, own, spacing } = propagationOf(propagation);
  return {
    ...scenario,
    endpoints: { ...scenario.endpoints, drawn: shared },
    senders: scenario.senders.map((group) => ({
      ...group,
      forwarder: { kind: "ordered", delay: own, spacing },
    })),
  };
}

/** What its pods said of their own event loops. */
function stallsOf({ timeline }: RemedyResult): Pick<Scenario["pod"], "stalls"> {
  const shares = (timeline?.pods ?? []).flatMap((event) => {
    if (event.type !== "phase" || event.phase !== "closing") return [];
    const { stalled, elapsed } = (event.detail ?? {}) as { stalled?: number; elapsed?: number };
    return stalled !== undefined && elapsed ? [stalled / elapsed] : [];
  });
  return shares.length === 0
    ? {}
    : { stalls: { share: empirical(shares), length: { exponential: usualStall } } };
}

/** As measured on the cluster of this machine, whose pods wait for the same processors. */
const usualStall = 125;

/** How long it took the pods from one event to another. */
function spans({ timeline }: RemedyResult, from: string, to: string): number[] {
  const begun = new Map<string, number>();
  const found: number[] = [];
  for (const { pod, type, at } of timeline?.pods ?? []) {
    if (type === from) begun.set(pod, at);
    const since = begun.get(pod);
    if (type === to && since !== undefined) found.push(at - since);
  }
  return found;
}
