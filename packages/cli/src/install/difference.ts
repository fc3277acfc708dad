import { hasStatus, isTransient, type KubernetesClient, type KubernetesObject } from "@lameduck/kube";
import { fieldManager, pathOf } from "./objects.ts";
import type { Manifest } from "./manifest.ts";

/** Fields that are named; the others are counted. */
const mostNamed = 4;
/** What the API server writes itself. */
const ofServer = new Set([
  "managedFields",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "uid",
  "deprecated.daemonset.template.generation",
]);

/**
 * What applying the object would change, by a dry run of the API server.
 * @returns none where it would change nothing; `unknown` where the dry run is refused.
 */
export async function differenceOf(
  client: KubernetesClient,
  object: Manifest,
  before: KubernetesObject,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const after = await client.apply<KubernetesObject>(pathOf(object), object, fieldManager, signal, true);
    const fields = [...changed(before, after, "")];
    if (fields.length === 0) return undefined;
    const more = fields.length > mostNamed ? ` and ${fields.length - mostNamed} more` : "";
    return `${fields.slice(0, mostNamed).join(", ")}${more}`;
  } catch (error) {
    if (signal.aborted || isTransient(error)) throw error;
    // Another admission rule may refuse it, or the right to change it is missing.
    return hasStatus(error, 403) ? "unknown: the dry run is refused" : "unknown: the dry run failed";
  }
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

function* changed(before: unknown, after: unknown, path: string): Generator<string> {
  if (!isMap(before) || !isMap(after)) {
    if (JSON.stringify(before) !== JSON.stringify(after)) yield path;
    return;
  }
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)]))
    if (!ofServer.has(key) && (path !== "" || key !== "status"))
      yield* changed(before[key], after[key], path === "" ? key : `${path}.${key}`);
}
