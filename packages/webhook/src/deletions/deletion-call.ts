import { isObject, type Pod } from "@lameduck/kube";
import { mapIn } from "@lameduck/inject";
import type { AdmissionRequest } from "../admission/review.ts";

/** A deletion or an eviction, as the API server asks about it. */
export interface DeletionCall {
  readonly action: "delete" | "evict";
  readonly namespace: string;
  readonly name: string;
  /** An eviction does not say what it is about. */
  readonly pod: Pod | undefined;
  /** What the caller gave; undefined: the pod's own grace period. */
  readonly graceSeconds: number | undefined;
  readonly isDryRun: boolean;
  /** The object must not have changed since: a change of ours would fail the call. */
  readonly isVersioned: boolean;
  readonly user: string;
  readonly groups: readonly string[];
}

/** @returns none where it is neither. */
export function deletionCallOf({
  group,
  kind,
  operation,
  namespace,
  object,
  oldObject,
  raw = {},
}: AdmissionRequest): DeletionCall | undefined {
  const isDeletion = group === "" && kind === "Pod" && operation === "DELETE";
  const isEviction = group === "policy" && kind === "Eviction" && operation === "CREATE";
  if (!isDeletion && !isEviction) return undefined;
  const eviction = mapIn(mapIn(object)["deleteOptions"]);
  const options = isDeletion ? mapIn(raw["options"]) : eviction;
  const grace = options["gracePeriodSeconds"];
  const user = mapIn(raw["userInfo"]);
  const groups = user["groups"];
  return {
    action: isDeletion ? "delete" : "evict",
    namespace,
    // Of a whole collection none is given.
    name: typeof raw["name"] === "string" ? raw["name"] : "",
    pod: isDeletion && isObject(oldObject) ? (oldObject as Pod) : undefined,
    graceSeconds: typeof grace === "number" ? grace : undefined,
    isDryRun: raw["dryRun"] === true || (Array.isArray(eviction["dryRun"]) && eviction["dryRun"].length > 0),
    isVersioned: typeof mapIn(options["preconditions"])["resourceVersion"] === "string",
    user: typeof user["username"] === "string" ? user["username"] : "",
    groups: Array.isArray(groups) ? groups.filter((one) => typeof one === "string") : [],
  };
}
