import { AuditError, auditedTypes, fileOf, liveObjects, liveTypes, type InputFile } from "@lameduck/audit";
import { hasStatus, KubernetesClient, orUndefined } from "@lameduck/kube";
import { messageOf } from "@lameduck/drain/common";
import { connectionOf, type ClusterFlags } from "../cluster/connection.ts";
import { Progress } from "../progress.ts";
import type { Read } from "./input.ts";

export interface ClusterOptions extends ClusterFlags {
  /** undefined: that of the context. */
  readonly namespace?: string | undefined;
  readonly allNamespaces?: boolean;
}

interface ClusterRead extends Read {
  /** "1.36"; undefined where the cluster does not tell. */
  readonly version: string | undefined;
  /** Types that may not be listed. */
  readonly notRead: ReadonlySet<string>;
}

/** The same objects that files would hold, as they are in the cluster. Nothing is changed. */
export async function readCluster(options: ClusterOptions): Promise<ClusterRead> {
  const { namespace, allNamespaces } = options;
  const connection = connectionOf(options);
  const client = new KubernetesClient(connection);
  const within = allNamespaces ? undefined : (namespace ?? connection.namespace);
  const progress = new Progress();
  const files: InputFile[] = [];
  const failures: AuditError[] = [];
  const notRead = new Set<string>();
  try {
    const version = await versionOf(client);
    if (within !== undefined) await mustExist(client, within);
    const groups = await groupsOf(client);
    const installed = liveTypes.filter(
      (type) => auditedTypes.has(type) && (groups?.has(type.split("/")[0] ?? "") ?? true),
    );
    for (const type of installed) {
      progress.update("reading the cluster", type);
      try {
        for await (const file of liveObjects(client, type, within, fileOf)) files.push(file);
      } catch (error) {
        // Kinds that are not installed are not there to be audited.
        if (hasStatus(error, 404)) continue;
        if (!hasStatus(error, 403)) throw error;
        notRead.add(type);
        failures.push(new AuditError("LAMEDUCK_AUDIT_NOT_PERMITTED", type, messageOf(error)));
      }
    }
    return { files, failures, version, notRead };
  } finally {
    progress.done();
    client.close();
  }
}

/** An API server lists nothing of a namespace that does not exist, and does not say so. */
async function mustExist(client: KubernetesClient, namespace: string): Promise<void> {
  try {
    await client.get(`/api/v1/namespaces/${encodeURIComponent(namespace)}`);
  } catch (error) {
    if (hasStatus(error, 404))
      throw new AuditError("LAMEDUCK_AUDIT_NO_NAMESPACE", namespace, "there is no such namespace");
    // Who may not read namespaces may still list what is in one.
    if (!hasStatus(error, 403)) throw error;
  }
}

/** The groups that the API server has; undefined where it does not tell. */
async function groupsOf(client: KubernetesClient): Promise<ReadonlySet<string> | undefined> {
  const answer = client.get<{ readonly groups?: readonly { readonly name: string }[] }>("/apis");
  const found = await orUndefined(answer, 403, 404);
  return found && new Set(["", ...(found.groups ?? []).map(({ name }) => name)]);
}

async function versionOf(client: KubernetesClient): Promise<string | undefined> {
  const found = await orUndefined(client.get<{ readonly minor?: string }>("/version"), 403, 404);
  const number = Number.parseInt(found?.minor ?? "", 10);
  return Number.isNaN(number) ? undefined : `1.${number}`;
}
