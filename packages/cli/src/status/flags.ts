import { auditedTypes, liveTypes } from "@lameduck/audit";
import { findLosingWorkloads, type FlaggedWorkloads } from "@lameduck/audit/flags";
import { printable } from "@lameduck/drain/common";
import type { KubernetesClient } from "@lameduck/kube";

interface FlaggedNamespace extends FlaggedWorkloads {
  readonly name: string;
}

/** Each is some twenty lists. */
const mostFlagged = 20;

/** The errors of the audit over what runs in these namespaces. */
export async function flagsOf(
  client: KubernetesClient,
  namespaces: readonly string[],
  signal: AbortSignal,
): Promise<FlaggedNamespace[]> {
  const { minor = "" } = await client.get<{ readonly minor?: string }>("/version", signal);
  const kubernetes = Number.parseInt(minor, 10) || undefined;
  const types = liveTypes.filter((type) => auditedTypes.has(type));
  const flagged: FlaggedNamespace[] = [];
  for (const name of namespaces.slice(0, mostFlagged))
    flagged.push({ name, ...(await findLosingWorkloads(client, name, { types, kubernetes, signal })) });
  return flagged;
}

export function* flagLines(flagged: readonly FlaggedNamespace[], of: number): Generator<string> {
  for (const { name, flags, notRead } of flagged) {
    const unread =
      notRead.length === 0 ? "" : `; not all looked at (no right, or too many): ${notRead.join(", ")}`;
    yield `namespace ${name}: ${flags.length === 0 ? "the audit has no error" : `${flags.length} errors of the audit`}${unread}`;
    for (const { kind, name: own, rule, message } of flags)
      yield `  ${kind.toLowerCase()}/${own}: ${printable(message)} (${rule})`;
  }
  if (of > flagged.length)
    yield `${of - flagged.length} more namespaces were not audited: lameduck audit -n NAMESPACE`;
}
