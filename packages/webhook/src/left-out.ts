import type { Logger } from "pino";
import type { OnLeftOut } from "@lameduck/cluster";
import type { WebhookMetrics } from "./metrics.ts";

/** An object that is left out may change every second, and must not fill the log. */
const logIntervalMs = 3_600_000;
const mostRemembered = 1_000;

/** Counts what is not looked at of the cluster's objects, and logs the first of each namespace. */
export function leftOutLogger(
  { leftOut }: Pick<WebhookMetrics, "leftOut">,
  log: Pick<Logger, "warn">,
  now: () => number = Date.now,
): OnLeftOut {
  const loggedAt = new Map<string, number>();
  return (part, { namespace = "", name }, why) => {
    leftOut.inc({ part });
    const key = `${part}/${namespace}`;
    if (now() - (loggedAt.get(key) ?? -Infinity) < logIntervalMs) return;
    if (loggedAt.size >= mostRemembered) loggedAt.clear();
    loggedAt.set(key, now());
    log.warn({ part, namespace, name }, why);
  };
}
