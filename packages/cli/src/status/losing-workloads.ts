import { auditedTypes, liveTypes } from "@lameduck/audit";
import { findLosingWorkloads, type AuditedWorkloads } from "@lameduck/audit/losing-workloads";
import { printable } from "@lameduck/drain/common";
import type { KubernetesClient } from "@lameduck/kube";

interface AuditedNamespace extends AuditedWorkloads {
  readonly name: string;
}

/** Each is some twenty lists. */
const mostNamespaces = 20;

/** The errors of the audit over what runs in these namespaces. */
export async function auditNamespaces(
  client: KubernetesClient,
  namespaces: readonly string[],
  signal: AbortSignal,
): Promise<AuditedNamespace[]> {
  const { minor = "" } = await client.get<{ readonly minor?: string }>("/version", signal);
  const kubernetes = Number.parseInt(minor, 10) || undefined;
  const types = liveTypes.filter((type) => auditedTypes.has(type));
  const audited: AuditedNamespace[] = [];
  for (const name of namespaces.slice(0, mostNamespaces))
    audited.push({ name, ...(await findLosingWorkloads(client, name, { types, kubernetes, signal })) });
  return audited;
}

export function* findingLines(audited: readonly AuditedNamespace[], of: number): Generator<string> {
  for (const { name, findings, notRead } of audited) {
    const unread =
      notRead.length === 0 ? "" : `; not all looked at (no right, or too many): ${notRead.join(", ")}`;
    yield `namespace ${name}: ${findings.length === 0 ? "the audit has no error" : `${findings.length} errors of the audit`}${unread}`;
    for (const { kind, name: own, rule, message } of findings)
      yield `  ${kind.toLowerCase()}/${own}: ${printable(message)} (${rule})`;
  }
  if (of > audited.length)
    yield `${of - audited.length} more namespaces were not audited: lameduck audit -n NAMESPACE`;
}
