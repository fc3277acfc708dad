import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RemedyResult, Results } from "@lameduck/rollout";
import { drained } from "../../src/policies/drained.ts";
import { scenarioFrom } from "../../src/scenario/parse.ts";
import { mean, predict } from "./predict.ts";
import { compared, type Compared } from "./table.ts";

/** What both play: four proxies of connections before six pods, new connections only. */
const shape = { replicas: 6, senders: 4, rps: 150, rollouts: 3 } as const;
const propagations = ["ebpf", "idle-kube-proxy", "traefik", "mesh"] as const;
const remedies = {
  nothing: () => drained("nothing", { policy: "fixed", delay: 0, floor: 0 }),
  "sleep-2": () => drained("sleep-2", { policy: "fixed", delay: 0, floor: 0, prestop: "2s" }),
  adaptive: () => drained("adaptive", {}),
} as const;
const program = new URL("../../../cli/bin/lameduck.js", import.meta.url).pathname;

/** Runs each propagation with each remedy in the lab's local stage, and the same in the model. */
export function* compareLab(say: (line: string) => void): Generator<Compared> {
  const folder = mkdtempSync(join(tmpdir(), "lameduck-compare-"));
  try {
    for (const propagation of propagations) {
      say(`lab: ${propagation}`);
      const results = runLab(propagation, join(folder, "results.json"));
      for (const result of results.remedies) yield compareRemedy(propagation, result);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function runLab(propagation: string, file: string): Results {
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
  return JSON.parse(readFileSync(file, "utf8")) as Results;
}

function compareRemedy(propagation: string, result: RemedyResult): Compared {
  const name = result.remedy as keyof typeof remedies;
  const { scenario } = scenarioFrom({
    name: `${propagation}, ${name}`,
    replicas: shape.replicas,
    rollout: { ready: { quantiles: quantilesOf(spans(result, "created", "ready")) } },
    senders: [{ preset: propagation, count: shape.senders }],
    traffic: { perPod: mean(result.each.flatMap(({ rate }) => rate ?? [])), service: 0 },
    pod: {
      prestop: name === "sleep-2" ? "2s" : 0,
      watched: Math.max(1_000, mean(spans(result, "ready", "deleted"))),
      // As this lab's kubelet is.
      reaction: mean(spans(result, "deleted", name === "sleep-2" ? "pre-stop-begun" : "signalled")),
    },
  });
  return compared(
    `${propagation}, ${name}`,
    {
      terminations: result.terminations,
      lost: mean(result.each.map(({ lost }) => lost)),
      hold: mean(result.each.map(({ hold }) => hold)),
      oracle: mean(result.each.flatMap(({ oracle }) => oracle ?? [])),
    },
    predict(scenario, remedies[name](), {
      rollouts: result.terminations / shape.replicas,
      perRollout: shape.replicas,
    }),
  );
}

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

function quantilesOf(values: number[]): [number, number][] {
  return values.sort((a, b) => a - b).map((value, index) => [(index + 1) / values.length, value]);
}
