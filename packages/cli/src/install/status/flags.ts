import { audit, imagesOf, noConfig, nothingSuppressed } from "@lameduck/audit";
import { printable } from "@lameduck/drain/common";
import { readCluster } from "../../audit/cluster.ts";
import { minorFrom } from "../../audit/options.ts";
import type { ConnectionFlags } from "../connection.ts";

/** A workload that the audit says will lose requests. */
export interface Flag {
  readonly workload: string;
  readonly rule: string;
  readonly message: string;
}

export interface FlaggedNamespace {
  readonly name: string;
  readonly flags: readonly Flag[];
  /** Kinds of objects that may not be listed, and so were not looked at. */
  readonly notRead: readonly string[];
}

/** Each is some twenty lists. */
const mostFlagged = 20;

/** The errors of `lameduck audit` over what runs in these namespaces. */
export async function flagsOf(
  { context, kubeconfig }: ConnectionFlags,
  namespaces: readonly string[],
): Promise<FlaggedNamespace[]> {
  const flagged: FlaggedNamespace[] = [];
  for (const name of namespaces.slice(0, mostFlagged)) {
    const read = await readCluster({ context, kubeconfig, namespace: name, allNamespaces: false });
    const { findings } = audit(read.files, {
      images: imagesOf([]),
      facts: noConfig.assume,
      kubernetes: minorFrom(read.version),
      notRead: read.notRead,
      suppressions: nothingSuppressed,
    });
    const errors = findings.filter(({ severity }) => severity === "error");
    flagged.push({
      name,
      flags: errors.map(({ object, rule, message }) => ({
        workload: `${object.kind.toLowerCase()}/${object.name}`,
        rule,
        message,
      })),
      notRead: [...read.notRead],
    });
  }
  return flagged;
}

export function* flagLines(flagged: readonly FlaggedNamespace[], of: number): Generator<string> {
  for (const { name, flags, notRead } of flagged) {
    const unread = notRead.length === 0 ? "" : `; not looked at, for want of rights: ${notRead.join(", ")}`;
    yield `namespace ${name}: ${flags.length === 0 ? "the audit has no error" : `${flags.length} errors of the audit`}${unread}`;
    for (const { workload, rule, message } of flags) yield `  ${workload}: ${printable(message)} (${rule})`;
  }
  if (of > flagged.length)
    yield `${of - flagged.length} more namespaces were not audited: lameduck audit -n NAMESPACE`;
}
