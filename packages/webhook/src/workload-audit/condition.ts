import type { AuditedWorkloads } from "@lameduck/audit/losing-workloads";
import { printable } from "@lameduck/drain/common";
import { losingWorkloads } from "./workload-audit.ts";

/** The condition of a DrainPolicy: whether workloads that it applies to will lose requests. */
export interface LosesRequests {
  readonly type: "LosesRequests";
  readonly status: "True" | "False" | "Unknown";
  readonly reason: "AuditErrors" | "NoAuditErrors" | "NotRead";
  readonly message: string;
}

/** Workloads, and namespaces, that the message names; the others are counted. */
const mostNamed = 5;
const longestReason = 200;

/**
 * @param known what was found, by namespace.
 * @param failing namespaces that could not be looked at.
 * @returns none until somebody has tried to look at each of the namespaces.
 */
export function losesRequests(
  known: ReadonlyMap<string, AuditedWorkloads>,
  failing: ReadonlySet<string>,
  namespaces: readonly string[],
): LosesRequests | undefined {
  const type = "LosesRequests";
  const found = namespaces.flatMap((name) => {
    const one = known.get(name);
    return one ? [{ name, ...one }] : [];
  });
  if (!namespaces.every((name) => known.has(name) || failing.has(name))) return undefined;
  const losing = found.flatMap((one) =>
    Array.from(losingWorkloads(one), ([{ kind, name }, why]) => {
      const place = namespaces.length > 1 ? `${one.name}/` : "";
      return `${place}${kind.toLowerCase()}/${name}: ${printable(why.slice(0, longestReason))}`;
    }),
  );
  const notRead = [...new Set(found.flatMap((one) => one.notRead))];
  const failed = namespaces.filter((name) => failing.has(name));
  const unread = [
    ...(notRead.length === 0 ? [] : [`; not all looked at (no right, or too many): ${notRead.join(", ")}`]),
    ...(failed.length === 0 ? [] : [`; looking failed: ${firstOf(failed, ", ")}`]),
  ].join("");
  const number = found.reduce((sum, { workloads }) => sum + workloads, 0);
  const all = number === 1 ? "1 workload" : `${number} workloads`;
  if (losing.length > 0) {
    const message = `${losing.length} of ${all}: ${firstOf(losing, "; ")}${unread}`;
    return { type, status: "True", reason: "AuditErrors", message };
  }
  if (unread !== "") return { type, status: "Unknown", reason: "NotRead", message: `0 of ${all}${unread}` };
  return { type, status: "False", reason: "NoAuditErrors", message: `0 of ${all}` };
}

function firstOf(all: readonly string[], between: string): string {
  const more = all.length > mostNamed ? `${between}and ${all.length - mostNamed} more` : "";
  return `${all.slice(0, mostNamed).join(between)}${more}`;
}
