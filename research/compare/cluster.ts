import { readFileSync } from "node:fs";
import { drained } from "../../packages/simulator/src/policies/drained.ts";
import { scenarioFrom } from "../../packages/simulator/src/scenario/parse.ts";
import { predict } from "./predict.ts";
import { median } from "./statistics.ts";
import { compared, type Compared } from "./table.ts";

/** What was kept of a run of the matrix (e2e/README.md) on a real cluster: milliseconds, and requests per second. */
interface Recorded {
  readonly scenario: string;
  readonly proxyMode: string;
  readonly minSyncPeriods: readonly string[];
  readonly replicas: number;
  readonly terminations: number;
  readonly lost: number;
  readonly hold: { readonly p50: number };
  readonly oracle: { readonly p50: number };
  readonly ratePerPod: number;
}

const file = new URL("../recordings/kube-proxy.json", import.meta.url);

/** Plays each of them with the kube-proxies' own settings, and traffic as it was measured. Medians: the means were not kept. */
export function* compareCluster(say: (line: string) => void): Generator<Compared> {
  const { runs } = JSON.parse(readFileSync(file, "utf8")) as { runs: Recorded[] };
  for (const recorded of runs) {
    say(`cluster: ${recorded.scenario}`);
    yield comparison(recorded);
  }
}

/** The load came from the first and the last two of five nodes, and from each of three (e2e/matrix/open-route.ts). */
function sendersAmong(minSyncPeriods: readonly string[]): readonly string[] {
  return minSyncPeriods.length < 4
    ? minSyncPeriods
    : [...minSyncPeriods.slice(0, 1), ...minSyncPeriods.slice(-2)];
}

function comparison(recorded: Recorded): Compared {
  const { scenario: kind, proxyMode, minSyncPeriods, terminations, ratePerPod } = recorded;
  const rollout = kind.startsWith("rollout");
  const { scenario } = scenarioFrom({
    name: kind,
    replicas: rollout ? recorded.replicas : 2,
    rollout: rollout ? { maxSurge: 2, maxUnavailable: 1 } : { kind: "isolated" },
    senders: sendersAmong(minSyncPeriods).map((minSyncPeriod, index) => ({
      name: `sender ${index + 1}`,
      // A change meets a proxy at any time of its period: other pods' changes have just been synced, or not.
      kubeProxy: { minSyncPeriod, busy: true },
    })),
    // Half of the requests come on kept-alive connections; one in twenty takes 300 ms.
    traffic: {
      perPod: ratePerPod / 2,
      spread: "known",
      service: {
        mixture: [
          [0.95, { lognormal: [5, 20] }],
          [0.05, 300],
        ],
      },
      pooled: { connections: 4, perPod: ratePerPod / 2 },
    },
    pod: { watched: "20s" },
  });
  return compared(
    `${kind}; ${proxyMode}, minSyncPeriod ${minSyncPeriods.join(", ")}`,
    {
      terminations,
      lost: recorded.lost / terminations,
      hold: recorded.hold.p50,
      oracle: recorded.oracle.p50,
    },
    predict(
      scenario,
      drained("adaptive", {}),
      {
        rollouts: rollout ? terminations / recorded.replicas : terminations,
        perRollout: rollout ? recorded.replicas : 1,
      },
      median,
    ),
  );
}
