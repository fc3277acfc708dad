import type { FlaggedWorkloads } from "@lameduck/audit/flags";
import { printable } from "@lameduck/drain/common";
import { flaggedWorkloads } from "./flagger.ts";

/** The condition of a DrainPolicy: whether workloads that it applies to will lose requests. */
export interface LosesRequests {
  readonly type: "LosesRequests";
  readonly status: "True" | "False" | "Unknown";
  readonly reason: "AuditErrors" | "NoAuditErrors" | "NotRead";
  readonly message: string;
}

/** Workloads that the message names; the others are counted. */
const mostNamed = 5;
const longestReason = 200;

/** @param known what was found, by namespace. @returns none until each of the namespaces has been looked at. */
export function losesRequests(
  known: ReadonlyMap<string, FlaggedWorkloads>,
  namespaces: readonly string[],
): LosesRequests | undefined {
  const type = "LosesRequests";
  const found = namespaces.flatMap((name) => {
    const one = known.get(name);
    return one ? [{ name, ...one }] : [];
  });
  if (found.length < namespaces.length) return undefined;
  const flagged = found.flatMap((one) =>
    Array.from(flaggedWorkloads(one), ([{ kind, name }, why]) => {
      const place = namespaces.length > 1 ? `${one.name}/` : "";
      return `${place}${kind.toLowerCase()}/${name}: ${printable(why.slice(0, longestReason))}`;
    }),
  );
  const notRead = [...new Set(found.flatMap((one) => one.notRead))];
  const unread =
    notRead.length === 0 ? "" : `; not all looked at (no right, or too many): ${notRead.join(", ")}`;
  const all = found.reduce((sum, { workloads }) => sum + workloads, 0);
  if (flagged.length > 0) {
    const more = flagged.length > mostNamed ? `; and ${flagged.length - mostNamed} more` : "";
    const named = flagged.slice(0, mostNamed).join("; ");
    const message = `${flagged.length} of ${all} workloads: ${named}${more}${unread}`;
    return { type, status: "True", reason: "AuditErrors", message };
  }
  if (unread !== "")
    return { type, status: "Unknown", reason: "NotRead", message: `0 of ${all} workloads${unread}` };
  return { type, status: "False", reason: "NoAuditErrors", message: `0 of ${all} workloads` };
}
