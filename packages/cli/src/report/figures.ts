import { quantiles, type Quantiles } from "@lameduck/accounting";
import type { DrainReport } from "@lameduck/coordinator";
import { savedIn, type SavedTime } from "./saved.ts";

/** What the terminations of a namespace have in common. A figure counts only terminations that reported it. */
export interface Figures {
  readonly terminations: number;
  /** Milliseconds. */
  readonly hold: Quantiles;
  readonly released: Quantiles;
  /** The stop after the release. */
  readonly afterRelease: Quantiles;
  readonly reasons: Readonly<Record<string, number>>;
  readonly killed: number;
  readonly killedUnknown: number;
  readonly overruled: number;
  /** Terminations that a consumer had not let go of 60 s after the pod's end, by consumer. */
  readonly stuck: Readonly<Record<string, number>>;
  /** Where holds came in place of sleeps. */
  readonly saved: SavedTime;
  readonly atRisk: { readonly requests: number; readonly connections: number; readonly reported: number };
}

export function figuresOf(reports: readonly DrainReport[]): Figures {
  const reported = <T>(value: (report: DrainReport) => T | undefined): T[] =>
    reports.flatMap((one) => value(one) ?? []);
  const sum = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0);
  const reasons = Map.groupBy(reports, ({ summary }) => summary.reason);
  const stuck = Map.groupBy(
    reports.flatMap(({ stuckConsumers = [] }) => stuckConsumers),
    ({ name }) => name,
  );
  const requests = reported(({ atRisk }) => atRisk?.requests);
  const connections = reported(({ atRisk }) => atRisk?.connections);
  return {
    terminations: reports.length,
    hold: quantiles(reported(({ hold }) => hold?.ms)),
    released: quantiles(reported(({ moments }) => moments.released)),
    afterRelease: quantiles(
      reported(({ moments: { released, closing } }) =>
        released === undefined || closing === undefined ? undefined : closing - released,
      ),
    ),
    reasons: Object.fromEntries([...reasons].map(([reason, own]) => [reason, own.length])),
    killed: reports.filter(({ killed }) => killed === "yes").length,
    killedUnknown: reports.filter(({ killed }) => killed === "unknown").length,
    overruled: reports.filter(({ overruledBy }) => overruledBy !== undefined).length,
    stuck: Object.fromEntries([...stuck].map(([name, own]) => [name, own.length])),
    saved: savedIn(reports),
    atRisk: {
      requests: sum(requests),
      connections: sum(connections),
      reported: Math.max(requests.length, connections.length),
    },
  };
}
