import type { Logger } from "pino";
import type { OnLeftOut } from "../exposure/keeping.ts";
import type { OperatorMetrics } from "./metrics.ts";

/** Milliseconds. Whoever changes such an object every second must not fill the log. */
const again = 3_600_000;
const mostRemembered = 1_000;

/** Counts what is not looked at of the cluster's objects, and logs the first of each namespace. */
export function toldLeftOut(
  { leftOut }: Pick<OperatorMetrics, "leftOut">,
  log: Pick<Logger, "warn">,
  now: () => number = Date.now,
): OnLeftOut {
  const told = new Map<string, number>();
  return (part, { namespace = "", name }, why) => {
    leftOut.inc({ part });
    const key = `${part}/${namespace}`;
    if (now() - (told.get(key) ?? -Infinity) < again) return;
    if (told.size >= mostRemembered) told.clear();
    told.set(key, now());
    log.warn({ part, namespace, name }, why);
  };
}
