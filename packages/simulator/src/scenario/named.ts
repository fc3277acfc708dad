import type { ScenarioFile } from "./schema.ts";

/** A published experiment with the assumption under which the model gives its result. */
interface NamedScenario {
  readonly summary: string;
  readonly source: string;
  /** What the publication does not say and the model needs. */
  readonly assumption: string;
  /** The policy whose loss is compared, by its name in the table. */
  readonly policy: string;
  /** Lost requests divided by the request rate through the terminated pods, seconds, as published. */
  readonly weff: number;
  readonly scenario: ScenarioFile;
}

const oneByOne = { kind: "isolated" } as const;

/** An AWS ALB, with the 7 in 10,000 that the second and third step assume. */
const albWithTail = {
  mixture: [
    [9_993, { uniform: ["5s", "25s"] }],
    [7, "31s"],
  ],
};

export const namedScenarios = {
  "alb-readiness-only": {
    summary: "AWS ALB, 200 keep-alive connections, 3 min: 12 of 753,000 requests lost in a rollout",
    source: "https://dingyu.dev/en/posts/k8s-zero-downtime, first step",
    assumption: "all of them on idle connections that the pod closed while a request was 2.9 ms away",
    policy: "nothing",
    weff: 0.0029,
    scenario: {
      name: "alb-readiness-only",
      replicas: 4,
      terminations: 800,
      rollout: oneByOne,
      senders: [{ preset: "instant" }],
      traffic: { perPod: 0, service: 0, pooled: { connections: 50, perPod: 1_046, oneWay: 2.9 } },
    },
  },
  "alb-prestop-above-grace": {
    summary: "the same with preStop 40 s in a grace period of 30 s: 3 of 751,000",
    source: "https://dingyu.dev/en/posts/k8s-zero-downtime, second step",
    assumption: "SIGKILL at 30 s, while 7 in 10,000 convergences take a second longer than that",
    policy: "until-deadline",
    weff: 0.0007,
    scenario: {
      name: "alb-prestop-above-grace",
      replicas: 4,
      terminations: 4_000,
      rollout: oneByOne,
      senders: [
        {
          name: "alb",
          convergence: albWithTail,
        },
      ],
      traffic: { perPod: 100, service: 0 },
      pod: { reaction: 0, grace: "30s", reserve: 0, watched: "1s" },
    },
  },
  "alb-grace-above-prestop": {
    summary: "the same with a grace period of 50 s: none of 770,000",
    source: "https://dingyu.dev/en/posts/k8s-zero-downtime, third step",
    assumption: "the tail of the second step ends before 40 s",
    policy: "until-deadline",
    weff: 0,
    scenario: {
      name: "alb-grace-above-prestop",
      replicas: 4,
      terminations: 1_000,
      rollout: oneByOne,
      senders: [
        {
          name: "alb",
          convergence: albWithTail,
        },
      ],
      traffic: { perPod: 100, service: 0 },
      pod: { reaction: 0, grace: "50s", reserve: "5s", watched: "1s" },
    },
  },
  "gke-neg": {
    summary: "GKE NEG, 11 pods, 100 requests/s, no serving drain: 96 x 502 in a rollout",
    source: "kubernetes/ingress-gce issue 583",
    assumption: "the load balancer stopped sending after 0.96 s on average, uniform from 0 to 1.92 s",
    policy: "nothing",
    weff: 0.96,
    scenario: {
      name: "gke-neg",
      replicas: 11,
      terminations: 880,
      rollout: oneByOne,
      endpoints: { latency: 0, cacheLag: 0 },
      senders: [{ name: "neg", convergence: { uniform: [0, "1.92s"] } }],
      traffic: { total: 100, service: 0 },
      pod: { reaction: 0 },
    },
  },
  "haproxy-reload": {
    summary: "HAProxy plain reload, 1,000 requests/s for 5 s: 0.24 % lost",
    source: "https://serverfault.com/questions/580595",
    assumption: "nobody listened for 12 ms",
    policy: "nothing",
    weff: 0.012,
    scenario: {
      name: "haproxy-reload",
      replicas: 1,
      terminations: 1_000,
      rollout: oneByOne,
      endpoints: { latency: 0, cacheLag: 0 },
      senders: [{ name: "clients", convergence: "12ms" }],
      traffic: { perPod: 1_000, service: 0 },
      pod: { reaction: 0, watched: "1s" },
    },
  },
} as const satisfies Record<string, NamedScenario>;

export type NamedScenarioName = keyof typeof namedScenarios;
