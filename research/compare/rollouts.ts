import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Scenario } from "../../packages/simulator/src/model/scenario.ts";
import { empirical } from "../../packages/simulator/src/advise/recording.ts";
import { bare, drained } from "../../packages/simulator/src/policies/drained.ts";
import type { Contender } from "../../packages/simulator/src/policies/stopper.ts";
import { scenarioFrom } from "../../packages/simulator/src/scenario/parse.ts";
import { mean } from "../../packages/simulator/src/simulate/statistics.ts";
import { readDigest, type Digest, type RecordedTermination } from "./digest.ts";
import { predict } from "./predict.ts";
import { median } from "./statistics.ts";
import { compared, type Compared } from "./table.ts";

const folder = new URL("../recordings/rollouts/", import.meta.url);

/** The remedies as they were set in the recorded pods (e2e/matrix/remedies.ts). */
function contenderOf(remedy: string): { readonly contender: Contender; readonly prestop: number } {
  const [, seconds] = /^sleep-(\d+)$/.exec(remedy) ?? [];
  const prestop = Number(seconds ?? 0) * 1_000;
  const closesAtOnce = { policy: "fixed", delay: 0, floor: 0, prestop } as const;
  switch (remedy) {
    case "adaptive":
      return { contender: drained(remedy, {}), prestop };
    case "quiet":
      return { contender: drained(remedy, { policy: "quiet" }), prestop };
    case "until-deadline":
      return { contender: drained(remedy, { policy: "until-deadline" }), prestop };
    default:
      return { contender: bare(remedy, closesAtOnce), prestop };
  }
}

/** Whole rollouts of a real cluster, of which every termination was kept, and the same in the model. */
export function* compareRollouts(say: (line: string) => void): Generator<Compared> {
  for (const file of readdirSync(folder).sort()) {
    const name = basename(file, ".jsonl");
    say(`cluster: ${name}`);
    yield comparison(name, readDigest(readFileSync(new URL(file, folder), "utf8")));
  }
}

function comparison(name: string, digest: Digest): Compared {
  const { terminations } = digest;
  const { contender, prestop } = contenderOf(digest.remedy);
  const adaptive = contender.learns;
  // Servers that say nothing of their phases: what the end of the hold cost is all that is seen of it. Of some only the exit is
  // seen.
  const middle = adaptive ? mean : median;
  const rollouts = Math.max(1, Math.round(terminations.length / digest.replicas));
  return compared(
    name,
    {
      terminations: terminations.length,
      lost: mean(terminations.map(({ lost }) => lost)),
      hold: middle(terminations.map(({ hold }) => hold)),
      oracle: middle(terminations.map(oracleOf)),
    },
    predict(
      scenarioOf(digest, prestop),
      contender,
      { rollouts, perRollout: Math.round(terminations.length / rollouts) },
      middle,
    ),
  );
}

function oracleOf({ lags, oracle = 0 }: RecordedTermination): number {
  return Math.max(oracle, ...lags.map((lag) => lag ?? 0));
}

/** Everything that was set. Of what was measured, only what the model does not predict: rates, start-up, age of pods, want of processor. */
function scenarioOf(digest: Digest, prestop: number): Scenario {
  const { terminations, senders, newPerPod, pooledPerPod, openPerPod } = digest;
  const shares = terminations.flatMap(({ blind }) => blind ?? []);
  const ages = terminations.flatMap(({ age }) => age ?? []);
  const { scenario } = scenarioFrom({
    name: digest.remedy,
    replicas: digest.replicas,
    rollout: {
      maxSurge: digest.maxSurge,
      maxUnavailable: digest.maxUnavailable,
      ready: empirical(digest.ready),
    },
    senders: senders.map((name, index) => ({
      name,
      share: newPerPod[index] ?? 0,
      // Rollout follows upon rollout, and pods that start, become ready and end are changes all: no proxy is ever idle.
      kubeProxy: { minSyncPeriod: /\((\d+s)\)$/.exec(name)?.[1] ?? "1s", busy: true },
    })),
    traffic: {
      perPod: newPerPod.reduce((sum, rate) => sum + rate, 0),
      spread: "known",
      // One in twenty takes 300 ms.
      service: {
        mixture: [
          [0.95, { lognormal: [5, 20] }],
          [0.05, 300],
        ],
      },
      pooled: {
        connections: Math.max(1, Math.round(openPerPod / senders.length)),
        perPod: pooledPerPod,
      },
    },
    pod: {
      prestop,
      ...(ages.length > 0 ? { age: empirical(ages) } : {}),
      ...(shares.length > 0
        ? { stalls: { share: empirical(shares), length: { exponential: meanStall(digest) } } }
        : {}),
    },
  });
  return scenario;
}

/** Waits for a processor are about exponential: their mean is told by how fast long ones become rare. */
function meanStall({ slow }: Digest): number {
  const shareAbove = (least: number): number => slow.find(([above]) => above === least)?.[1] ?? 0;
  return (500 - 100) / Math.log(shareAbove(100) / shareAbove(500));
}
