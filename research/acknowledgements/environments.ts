import type { ScenarioFile } from "../../packages/simulator/src/scenario/schema.ts";

export interface Environment {
  readonly name: string;
  readonly scenario: ScenarioFile;
  /** The part of the terminations that small environments have. */
  readonly share?: number;
}

/** Consumers that do not do as they should, in the environment of five nodes. */
export type Fault = Environment;

/** The nodes of the real cluster: minSyncPeriod 1, 1, 2, 5 and 10 s, 12 pods. */
function fiveNodes(total: number, acknowledgements: ScenarioFile["acknowledgements"] = {}): ScenarioFile {
  return {
    replicas: 12,
    senders: [
      { preset: "kube-proxy-1s", count: 2 },
      { preset: "kube-proxy-2s" },
      { preset: "kube-proxy-5s" },
      { preset: "kube-proxy-10s" },
    ],
    traffic: { total, spread: "known" },
    pod: { grace: "60s" },
    acknowledgements,
  };
}

/** 1,000 pods on 5,000 nodes, one node in fifty of which lags. `sending`: so many of them send. */
function manyNodes(sending: number): ScenarioFile {
  const idle = 5_000 - sending;
  const groups = (count: number, share: number): ScenarioFile["senders"] =>
    count === 0
      ? []
      : [
          { name: `nodes ${share}`, preset: "idle-kube-proxy", count: count * 0.98, share: share * 0.98 },
          {
            name: `lagging nodes ${share}`,
            preset: "kube-proxy-10s",
            count: count * 0.02,
            share: share * 0.02,
          },
        ];
  return {
    replicas: 1_000,
    senders: [...(groups(sending, 1) ?? []), ...(groups(idle, 0) ?? [])],
    traffic: { total: 20_000 },
    pod: { grace: "60s" },
    acknowledgements: {},
  };
}

export const environments: readonly Environment[] = [
  { name: "5 nodes, 300/s to 12 pods", scenario: fiveNodes(300) },
  { name: "5 nodes, 2/s to 12 pods", scenario: fiveNodes(2) },
  { name: "5,000 nodes, 20,000/s to 1,000 pods", scenario: manyNodes(5_000), share: 0.5 },
  { name: "5,000 nodes, 200 of which send", scenario: manyNodes(200), share: 0.5 },
];

export const faults: readonly Fault[] = [
  { name: "all report, 300/s", scenario: fiveNodes(300) },
  { name: "one silent, availability", scenario: fiveNodes(300, { silent: 1 }) },
  { name: "one silent, consistency", scenario: fiveNodes(300, { silent: 1, mode: "consistency" }) },
  { name: "one lies, 300/s", scenario: fiveNodes(300, { lying: 1 }) },
  { name: "all lie, 300/s", scenario: fiveNodes(300, { lying: 5 }) },
  { name: "one lies, 2/s", scenario: fiveNodes(2, { lying: 1 }) },
  { name: "all lie, 2/s", scenario: fiveNodes(2, { lying: 5 }) },
];
