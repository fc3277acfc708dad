/** What reads the coordinator's answers and records; ./command is the program. */
export { drainReportCrd } from "./records/report/crd.ts";
export { type ConsumerRecord, type DrainReport, reportsOf } from "./records/report/drain-report.ts";
export type { CoordinatorStatus } from "./status.ts";
export type { TerminatingPod, TerminatingPods } from "./terminating.ts";
