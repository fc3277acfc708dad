import { Counter, Histogram, Summary, type Registry } from "@prometheus-io/client";
import { firstNames, gauge } from "@lameduck/program";
import type { StuckConsumer } from "../termination-view.ts";
import type { NewReport } from "./report/describe.ts";

const seconds = [0.5, 1, 2, 3, 4, 5, 7.5, 10, 15, 20, 30, 60, 120];

/** Metrics of terminations. Only the replica that records a termination counts it. docs/operate/drain-reports.md lists them. */
export function recordMetrics(
  registry: Registry,
  counts: () => { readonly kept: number; readonly waiting: number },
) {
  const registers = [registry];
  const hold = new Histogram({
    name: "lameduck_drain_hold_seconds",
    help: "How long pods held, as they reported it.",
    labelNames: ["program"] as const,
    buckets: seconds,
    registers,
  });
  const release = new Histogram({
    name: "lameduck_drain_release_seconds",
    help: "From the deletion until every sender had stopped sending.",
    buckets: seconds,
    registers,
  });
  const afterRelease = new Histogram({
    name: "lameduck_drain_hold_after_release_seconds",
    help: "From the release until the pod stopped accepting; pods that stopped before it are not counted here.",
    buckets: [0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30],
    registers,
  });
  const convergence = new Histogram({
    name: "lameduck_consumer_convergence_seconds",
    help: "From the withdrawal until a sender reported that it is applied.",
    labelNames: ["kind", "basis"] as const,
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 30, 60],
    registers,
  });
  const drains = new Counter({
    name: "lameduck_drains_total",
    help: "Terminations by stop reason and by the program that decided; unknown where nothing reported it.",
    labelNames: ["reason", "program"] as const,
    registers,
  });
  const killed = new Counter({
    name: "lameduck_drains_killed_total",
    help: "Whether terminations ended by SIGKILL at the end of the grace period: yes, no, unknown.",
    labelNames: ["killed"] as const,
    registers,
  });
  // A series that begins with its first event shows no increase.
  for (const one of ["yes", "no", "unknown"]) killed.inc({ killed: one }, 0);
  const workloadLabels = ["pod_namespace", "workload"] as const;
  // Not "namespace": a scrape of Prometheus has a label of that name, of the coordinator's own.
  const ofWorkload = new Counter({
    name: "lameduck_workload_drains_total",
    help: "Terminations by namespace and workload, and whether they ended by SIGKILL; the first hundred workloads have names.",
    labelNames: [...workloadLabels, "killed"] as const,
    registers,
  });
  const workloadHold = new Summary({
    name: "lameduck_workload_hold_seconds",
    help: "How long pods of a workload held, as they reported it: sum and number.",
    labelNames: workloadLabels,
    percentiles: [],
    registers,
  });
  const namedWorkload = firstNames();
  const overruled = new Counter({
    name: "lameduck_drains_overruled_total",
    help: "Terminations in which a new connection came after the pod was released.",
    registers,
  });
  const atRisk = new Counter({
    name: "lameduck_drain_at_risk_total",
    help: "What arrived during holds: requests and connections. A stop at SIGTERM would have put them at risk.",
    labelNames: ["what"] as const,
    registers,
  });
  const consumers = new Counter({
    name: "lameduck_drain_consumers_total",
    help: "Senders of terminations by how far they had come at the end: applied, behind, silent, missing.",
    labelNames: ["kind", "state"] as const,
    registers,
  });
  const stuck = new Counter({
    name: "lameduck_drain_consumers_stuck_total",
    help: "Terminations of pods that a sender still sent to long after their end, by sender.",
    labelNames: ["consumer"] as const,
    registers,
  });
  const named = firstNames();
  const records = new Counter({
    name: "lameduck_drain_reports_total",
    help: "Records by outcome: written, known (another replica's), refused, dropped, unserved (nothing to record).",
    labelNames: ["outcome"] as const,
    registers,
  });
  const removed = new Counter({
    name: "lameduck_drain_reports_removed_total",
    help: "Reports that were removed because of their age or their number.",
    registers,
  });
  const events = new Counter({
    name: "lameduck_drain_events_total",
    help: "Events to be written, by reason; Events are written at most once a minute for each.",
    labelNames: ["reason"] as const,
    registers,
  });
  // An alert waits for the first one.
  events.inc({ reason: "DrainConsumerStuck" }, 0);
  gauge(
    registry,
    "lameduck_drain_reports",
    "Reports in the cluster, as the writing replica knows.",
    () => counts().kept,
  );
  gauge(
    registry,
    "lameduck_drain_reports_waiting",
    "Terminations that have ended and are not recorded yet.",
    () => counts().waiting,
  );

  /** @param isMeasured whether the times of its consumers tell how fast they are. */
  const recorded = (report: NewReport, isMeasured: boolean): void => {
    const { program, hold: held, moments, atRisk: arrived } = report;
    drains.inc({ reason: reasonOf(held.reason), program });
    killed.inc({ killed: report.killed });
    const workload = labelsOf(report, namedWorkload);
    ofWorkload.inc({ ...workload, killed: report.killed });
    if (held.ms !== undefined) workloadHold.observe(workload, held.ms / 1_000);
    if (report.overruledBy !== undefined) overruled.inc();
    if (held.ms !== undefined) hold.observe({ program }, held.ms / 1_000);
    const { released, closing, withdrawn } = moments;
    if (released !== undefined) {
      release.observe(released / 1_000);
      if (closing !== undefined && closing >= released) afterRelease.observe((closing - released) / 1_000);
    }
    if (arrived.requests !== undefined) atRisk.inc({ what: "requests" }, arrived.requests);
    if (arrived.connections !== undefined) atRisk.inc({ what: "connections" }, arrived.connections);
    for (const { kind, basis = "unknown", state, appliedMs } of report.consumers) {
      consumers.inc({ kind, state });
      if (isMeasured && appliedMs !== undefined && withdrawn !== undefined)
        convergence.observe({ kind, basis }, Math.max(0, appliedMs - withdrawn) / 1_000);
    }
  };
  const neverLetGo = (consumers: readonly StuckConsumer[]): void => {
    for (const { name } of consumers) stuck.inc({ consumer: named(name) });
  };
  return { records, removed, events, recorded, neverLetGo };
}

export type RecordMetrics = ReturnType<typeof recordMetrics>;

/** Pods without a controller have names that nobody else has: they share one. */
function labelsOf({ metadata: { namespace }, workload }: NewReport, named: (name: string) => string) {
  const own = workload.startsWith("pod/") ? "pod" : workload;
  return named(`${namespace}/${own}`) === "others"
    ? { pod_namespace: "others", workload: "others" }
    : { pod_namespace: namespace, workload: own };
}

const reasons = new Set(["delay", "floor", "quiet", "idle", "acknowledged", "cap", "forced"]);

/** A label value for a pod's stop reason. A pod may report any text, so that unknown reasons share one value. */
function reasonOf(reason: string | undefined): string {
  if (reason === undefined) return "unknown";
  return reasons.has(reason) ? reason : "other";
}
