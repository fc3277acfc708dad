import type { TerminationView, TerminationConsumer } from "../src/termination-view.ts";

export const deletedAt = Date.parse("2026-11-25T12:00:00Z");

/** A termination as the coordinator tells it; times are those after the deletion where a helper makes them. */
export function termination(fields: Partial<TerminationView> = {}): TerminationView {
  return {
    uid: "0f5c7a12-94f1-4d4a-8a3b-3c1d00000001",
    namespace: "shop",
    name: "web-7d9c-abcde",
    addresses: ["10.244.1.5"],
    node: "node1",
    workload: { kind: "Deployment", name: "web" },
    deletedAt,
    graceSeconds: 60,
    sequence: undefined,
    withdrawnAt: undefined,
    isMeasured: false,
    releasedAt: undefined,
    consumers: new Map(),
    reported: {},
    overruledBy: undefined,
    falseAcknowledgers: [],
    exits: [],
    goneAt: undefined,
    finalizers: [],
    ...fields,
  };
}

export function consumer(fields: Partial<TerminationConsumer> = {}): TerminationConsumer {
  return {
    kind: "kube-proxy",
    basis: "rules",
    appliedAt: undefined,
    isMissing: false,
    isSilent: false,
    ...fields,
  };
}

/** One that went well: five nodes, the last after 5.1 s, held 5.6 s. */
export function released(fields: Partial<TerminationView> = {}): TerminationView {
  const consumers = [1_000, 1_100, 2_000, 3_000, 5_100].map(
    (after, index) => [`kube-proxy/node${index + 1}`, consumer({ appliedAt: deletedAt + after })] as const,
  );
  return termination({
    sequence: 17,
    withdrawnAt: deletedAt + 100,
    isMeasured: true,
    releasedAt: deletedAt + 5_100,
    consumers: new Map(consumers),
    reported: {
      phase: "closing",
      program: "library",
      policy: "adaptive",
      reason: "acknowledged",
      "held-ms": "5600",
      "floor-ms": "1000",
      "last-arrival-ms": "700",
      connections: "31",
      requests: "1660",
    },
    exits: [{ container: "app", exitCode: 0, finishedAt: deletedAt + 6_000 }],
    goneAt: deletedAt + 6_500,
    ...fields,
  });
}
