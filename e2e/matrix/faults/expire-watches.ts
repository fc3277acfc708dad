import { createInterface } from "node:readline";
import { until, type Cluster } from "../../cluster/index.ts";

const slices = "/apis/discovery.k8s.io/v1/endpointslices";

/** Revisions that nobody has seen are added, and all before them forgotten; base64, as etcd's gateway wants its keys. */
const forget = `
  const ask = async (path, body) => {
    const response = await fetch("http://127.0.0.1:2379/v3/kv/" + path, { method: "POST", body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(path + ": " + text);
    return JSON.parse(text);
  };
  const key = btoa("/lameduck-forgotten");
  let revision;
  for (let i = 0; i < 10; i++) revision = (await ask("put", { key, value: btoa(String(i)) })).header.revision;
  await ask("compaction", { revision, physical: true });`;

/**
 * Ends every watch and makes it impossible to go on where it was: the API server is killed, the history in etcd compacted, and the API server that
 * starts then knows nothing older. Whoever resumes is told 410 and must list anew. That it is so is asked, not assumed.
 */
export async function expireWatches(cluster: Cluster): Promise<void> {
  const { metadata } = await cluster.api.get<{ metadata: { resourceVersion: string } }>(slices);
  await cluster.kill("apiserver");
  await cluster.inside("fabric", [process.execPath, "--input-type=module", "-e", forget]);
  await cluster.restart("apiserver");
  await until(() => isExpired(cluster, metadata.resourceVersion), {
    what: "the API server's refusal (410) of a watch from before",
    timeoutMs: 30_000,
  });
}

/** The refusal comes as the watch's first line. */
async function isExpired({ api }: Cluster, resourceVersion: string): Promise<boolean> {
  const path = `${slices}?watch=true&resourceVersion=${resourceVersion}`;
  for await (const line of createInterface(await api.stream(path, AbortSignal.timeout(5_000)))) {
    const { type, object } = JSON.parse(line) as { type: string; object: { code?: number } };
    return type === "ERROR" && object.code === 410;
  }
  return false;
}
